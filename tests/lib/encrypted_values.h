/* Values as Kubernetes stores them, made by the encryptionconfig package of k8s.io/apiserver
 * v0.34.1: a file with one provider and one key `key1` (bytes 1, 2, 3 …), each plain text given to
 * TransformToStorage() with the authenticated data ENCRYPTED_VALUES_KEY. */
#ifndef COR_TEST_ENCRYPTED_VALUES_H
#define COR_TEST_ENCRYPTED_VALUES_H

#include <stddef.h>

#define ENCRYPTED_VALUES_KEY "/registry/secrets/default/tide"

struct encrypted_value {
    const char *provider;
    size_t key_bytes;
    const char *plain;
    const char *hex; /* of the stored value, prefix and all */
};

static const struct
    encrypted_value
        encrypted_values
            [] =
                {
                    {"aesgcm", 16, "",
                     "6b38733a656e633a61657367636d3a76313a6b6579313a2f1cc83f286d5c53b611cac0f00a95c113235d03e4ec21ddd8be7a16"},
                    {"aesgcm", 16, "{}",
                     "6b38733a656e633a61657367636d3a76313a6b6579313a1264ff874be9489adfd900d0992ad33c05e50558dcf11a0b3adf28ffc9ca"},
                    {"aesgcm", 16,
                     "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"tide\",\"namespace\":\"default\"},\"data\":{\"a\":\"Yg==\"}}",
                     "6b38733a656e633a61657367636d3a76313a6b6579313aa61d89af03281aca7cf870f28c791c3bc907cb59666ee8d6da456b2142ad258185ca6ff32fc14ef0367b348cb80ee594f94336129bf3eab7299165c4c3b3200016d1a5fc2602a6b34613b3d09a7b3edd804e95d05a707882a9967aa1b613f2193608677024e22f09de36eaf6223d13c99883e9f7c3152b2683a0d0abfafd7a6c4031bc8a"},
                    {"aesgcm", 16, "0123456789abcdef",
                     "6b38733a656e633a61657367636d3a76313a6b6579313a637ab8a46047f8e03b0960226749e4a4ca201ba688c00f79f73ffd99d9c7c8d29a0750964d674ab90db09eb0"},
                    {"aesgcm", 24, "",
                     "6b38733a656e633a61657367636d3a76313a6b6579313a69564a5c1c8f3f347aef71c319cec16997ad5175aa674f83cd92004d"},
                    {"aesgcm", 24, "{}",
                     "6b38733a656e633a61657367636d3a76313a6b6579313ace78e924b53200cd7b40341c747fafe444bee77b3345b0701dbfce49cfde"},
                    {"aesgcm", 24,
                     "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"tide\",\"namespace\":\"default\"},\"data\":{\"a\":\"Yg==\"}}",
                     "6b38733a656e633a61657367636d3a76313a6b6579313aadc9d2a1ae6fcad47ffb571569eb03d085c1b69cbd58b0a718bf422da401c6665389ade5439d2abb2ea8ae2a144bb0e2c56d285bb8bbd495a79399376991991fabeceeaada5b3ce4e73b843ce8a7a01bc648f2619b71fa0000dc04d0c4a5d40ac07e007a3bf11e2c3a97b5a6b52f2e82fe6a436b6da3a4e6dc22f2355e069a83b303a3dd"},
                    {"aesgcm", 24, "0123456789abcdef",
                     "6b38733a656e633a61657367636d3a76313a6b6579313a5892d925587ab3e8cffeee25cc32c2cae72475d7438e143d00eec89aa501a905876e76abf8acb9a5f32956e1"},
                    {"aesgcm", 32, "",
                     "6b38733a656e633a61657367636d3a76313a6b6579313a48c81846df06b535d6cd3ce3cdeb36d41b59de4b3d06d3cc7e758ae0"},
                    {"aesgcm", 32, "{}",
                     "6b38733a656e633a61657367636d3a76313a6b6579313a15597d6ddd837bc354aec00c6225c7d08fea6830fdd9af391acaac3026c7"},
                    {"aesgcm", 32,
                     "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"tide\",\"namespace\":\"default\"},\"data\":{\"a\":\"Yg==\"}}",
                     "6b38733a656e633a61657367636d3a76313a6b6579313a9715da5fecf7dfab00a2294b14edb7a902a92507ae6c6e7adc188e50825ca62304ba36c0960a6237aa8b091b54540e83f78d98fc5ad544edb6f680ffae3835442bd4e293a2e4404f66c99619c6bfaa221ee197b962020b7d0212b825a5f0749216e391203d4b8e626686077704a0eb31e2f709e4c86a9383302a7b470cde8410d3325739"},
                    {"aesgcm", 32, "0123456789abcdef",
                     "6b38733a656e633a61657367636d3a76313a6b6579313ae26e4241767b91d9ae17dfd30b8cbbb6033efd4d60d0395e9e402c389fdaa6e84781487a26af8505c3d53942"},
                    {"aescbc", 16, "",
                     "6b38733a656e633a6165736362633a76313a6b6579313a338f45696f556af5fe024583dd90ff0bd21a79892ef644222c5db11ef788c51f"},
                    {"aescbc", 16, "{}",
                     "6b38733a656e633a6165736362633a76313a6b6579313a7ba8cc649560c012b3747f36ce86a97b19981fdf20c97dcf5e69038617058711"},
                    {"aescbc", 16,
                     "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"tide\",\"namespace\":\"default\"},\"data\":{\"a\":\"Yg==\"}}", "6b38733a656e633a6165736362633a76313a6b6579313ab090dc41aabdad513da913bb907689a0d29b8856e7003e470b9bebabb655468cbd66727d20d36dc0e2d6963f07ac0f7c6303f3b290ebf211b52c9186cae4350bf75b0830ade344150fa7996e27c8e590288f20262ec171f35cb0a53da6280df0aca9cd77331568bb99982bbe49298fcc5e7b27929f9aabdb0430e33d3a6fa847"},
                    {"aescbc", 16, "0123456789abcdef",
                     "6b38733a656e633a6165736362633a76313a6b6579313ae0402ebafcf058c3efa272c355458cda156775af690b079efd1cb2afe4dd25de2cc649a8c7e2b6e38e2233ba0ccf817e"},
                    {"aescbc", 24, "",
                     "6b38733a656e633a6165736362633a76313a6b6579313a1858c5031b989bb036f85635ae902afc1c488444dcb4ecb32b75579cb16333b6"},
                    {"aescbc", 24, "{}",
                     "6b38733a656e633a6165736362633a76313a6b6579313a2562db161eb3deef26065cf49ad9ba85a739067a74ffb4b7b2aaa9053cc46419"},
                    {"aescbc", 24,
                     "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"tide\",\"namespace\":\"default\"},\"data\":{\"a\":\"Yg==\"}}",
                     "6b38733a656e633a6165736362633a76313a6b6579313accdef99db44678507f39475912f7baa53c8372b97ff77c086cbd70402bd132dc742fcc9fc3362c7ca80f5aef1cbd02eb1bf74b38f51645f440de415212e383beed0164fdc8656385466c8b7b1e61862431f26860f30835b45d11f84ebb6ba5230cf4d477a15a9495de6c9e1338885bc1bad820342353d0cdd7b06a5000917c8d"},
                    {"aescbc", 24, "0123456789abcdef",
                     "6b38733a656e633a6165736362633a76313a6b6579313ae4e8aebb809f286dfb9ce47248c7a33d109676bd6bc5115698ecb103b7d073988fe2e05968e909f62841fb101fd5a3f4"},
                    {"aescbc", 32, "",
                     "6b38733a656e633a6165736362633a76313a6b6579313a42b0a07c5c5afd676aadd219f50cb99e71ea2d451d29cc50f02a12a9f891a812"},
                    {"aescbc", 32, "{}",
                     "6b38733a656e633a6165736362633a76313a6b6579313a77f477b6239af317c511d868ca67e6e72c32a73346882bb42426169db4efa25d"},
                    {"aescbc", 32,
                     "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"tide\",\"namespace\":\"default\"},\"data\":{\"a\":\"Yg==\"}}",
                     "6b38733a656e633a6165736362633a76313a6b6579313a52ab8d081ae18d798384f3f5704d40d090990c2470daa2f39ea126364a8999a6b0d4e00e495b1c0a4796d7c43d717860e6a2851679478a1b8dbe0de3fbb9c3482d2e9387f0c66d7ea35e215abeb7b79d8c773efed593fc82b0c0d36825e0786b0d63ac0607d2ca9414cbba7e04b5326cf28fa7516aa3e08fe1b55e17080cb2d0"},
                    {"aescbc", 32, "0123456789abcdef",
                     "6b38733a656e633a6165736362633a76313a6b6579313a03d5b78166533dfe8b8cdcab92bcce72d772c0301adc4d0168641d23d2191c39530d5ecec9a3a7ec0cfe5bc69daf0ba1"},
                    {"secretbox", 32, "",
                     "6b38733a656e633a736563726574626f783a76313a6b6579313afe6107f028ca934cc5a18aa12591cb24f05e06c11cb2757b04e8ea0b5b19a6b958fef4c8b53f7cf0"},
                    {"secretbox", 32, "{}",
                     "6b38733a656e633a736563726574626f783a76313a6b6579313afc09f290a6b9df1fa87cb7e0878ea406da326819d466e3854cb006d52e2353d0268fd085a13db5597943"},
                    {"secretbox", 32,
                     "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"tide\",\"namespace\":\"default\"},\"data\":{\"a\":\"Yg==\"}}", "6b38733a656e633a736563726574626f783a76313a6b6579313a90709eeb04215563ad48323e3358a286da5ee8c2fbc3867960ee90d5ffbfbebed531ed546d2abda02b7cc93c341298dc7f99b89f31f88a1c40ee8707fe10194bbfcd94f13f5c4b28f334e374ecec80e52acccfca0bb4518957f4c8a89fc87aca7d935095656f63222354c6b1ebf96b05dbd151dd81461a815062391b7a08828e8895bca9f2ffc4c712769b530e4d18ab"},
                    {"secretbox", 32, "0123456789abcdef",
                     "6b38733a656e633a736563726574626f783a76313a6b6579313afa08fe3c7db705f89ed8d912abb2ec64628646adbcf98c26d9cf91c7fdae6df40cdf38776752dfb5b9fbf3c023284ea6ce2a7fa4458d881c"},
};

#endif
