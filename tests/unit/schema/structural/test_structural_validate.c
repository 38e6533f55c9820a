/* What schemas of custom resources find wrong with objects. Rows give JSON with ' in place of ";
 * errors are written one behind the other as `field: text`, separated by a bar. */
#include <stdio.h>

#include "../rows.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/structural/pattern.h"
#include "schema/structural/string_format.h"
#include "schema/structural/structural.h"

static struct cor_structural *compile(const char *text)
{
    struct cor_structural *schema = NULL;
    char json[JSON_MAX];

    assert_int_equal(cor_structural_compile(quoted(text, json), NULL, &schema, NULL), 0);
    return schema;
}

/* A schema whose spec has these properties, and perhaps other keywords behind a bar. */
static struct cor_structural *compile_spec(const char *properties)
{
    const char *bar = strchr(properties, '|');
    char text[JSON_MAX];

    snprintf(text, sizeof(text),
             "{'type':'object','properties':{'spec':{'type':'object'%s%s,'properties':{%.*s}}}}",
             bar ? "," : "", bar ? bar + 1 : "",
             bar ? (int)(bar - properties) : (int)strlen(properties), properties);
    return compile(text);
}

/* The errors of both checks as one text, which the caller frees. */
static char *find_errors(struct cor_structural *schema, const char *object, const char *old,
                         bool is_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 1u << 20};
    char object_json[JSON_MAX], old_json[JSON_MAX];
    struct cor_structural_validation validation = {.object = quoted(object, object_json),
                                                   .is_status = is_status};
    struct cor_field_errors errors;

    if (old)
        validation.old = quoted(old, old_json);
    cor_field_errors_init(&errors);
    cor_structural_validate(schema, &validation, &errors);
    cor_structural_check_embedded(schema, &validation, &errors);
    cor_structural_check_lists(schema, &validation, &errors);
    cor_structural_check_rules(schema, &errors);
    assert_int_equal(errors.error, 0);
    for (size_t i = 0; i < errors.n; i++)
        assert_int_equal(
            cor_buf_addf(&text, "%s%s: %s", i > 0 ? "|" : "", errors.v[i].field, errors.v[i].body),
            0);
    cor_field_errors_deinit(&errors);
    return cor_strdup(cor_buf_z(&text));
}

static void check_errors(struct cor_structural *schema, const char *object, const char *old,
                         const char *want)
{
    char *found = find_errors(schema, object, old, false);
    char wanted[JSON_MAX];

    /* In what is wanted, ` is a quote, and ' itself is needed. */
    snprintf(wanted, sizeof(wanted), "%s", want);
    for (char *p = wanted; *p; p++)
        *p = (char)(*p == '`' ? '"' : *p);
    if (strcmp(found, wanted) != 0)
        fail_msg("%s (old: %s) has the errors\n%s\ninstead of\n%s", object, old ? old : "none",
                 found, wanted);
    cor_free(found);
}

struct row {
    const char *properties, *spec, *errors;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cor_structural *schema = compile_spec(rows[i].properties);
        char object[JSON_MAX];

        snprintf(object, sizeof(object), "{'kind':'K','apiVersion':'g/v1','spec':%s}",
                 rows[i].spec);
        check_errors(schema, object, NULL, rows[i].errors);
        cor_structural_free(schema);
    }
}

/* clang-format off */

/* Contract crd 4.7.1, 4.7.2, 4.7.3, 4.7.5, B9, B12, C1 to C8. */
TEST(structural_validate, checks_types_and_enums)
{
    static const struct row rows[] = {
        {"'n':{'type':'integer'}", "{'n':'x'}", "spec.n: Invalid value: `string`: spec.n in body must be of type integer: `string`"},
        {"'n':{'type':'integer'}", "{'n':2.5}", "spec.n: Invalid value: `number`: spec.n in body must be of type integer: `number`"},
        {"'n':{'type':'integer'}", "{'n':2.0}", ""},
        {"'n':{'type':'integer'}", "{'n':-2.0}", ""},
        {"'n':{'type':'integer'}", "{'n':9007199254740993.5}", "spec.n: Invalid value: `number`: spec.n in body must be of type integer: `number`"},
        {"'n':{'type':'number'}", "{'n':2}", ""},
        {"'n':{'type':'integer','format':'int32'}", "{'n':9999999999}", ""},
        {"'p':{'x-kubernetes-int-or-string':true}", "{'p':true}", "spec.p: Invalid value: `boolean`: spec.p in body must be of type integer,string: `boolean`"},
        {"'p':{'x-kubernetes-int-or-string':true}", "{'p':'x'}", ""},
        {"'p':{'x-kubernetes-preserve-unknown-fields':true}", "{'p':[{}]}", ""},
        {"'e':{'type':'string','enum':['a','b']}", "{'e':'c'}", "spec.e: Unsupported value: `c`: supported values: `a`, `b`"},
        {"'e':{'type':'integer','enum':[1,2]}", "{'e':3}", "spec.e: Unsupported value: 3: supported values: `1`, `2`"},
        {"'e':{'type':'integer','enum':[1,2]}", "{'e':2}", ""},
        {"'e':{'type':'object','enum':[{'b':1,'a':2}],'x-kubernetes-preserve-unknown-fields':true}", "{'e':{'a':2,'b':1}}", ""},
        {"'e':{'type':'string','nullable':true,'enum':['a']}", "{'e':null}", "spec.e: Unsupported value: null: supported values: `a`"},
        {"'a':{'type':'string'}|'required':['a']", "{}", "spec.a: Required value"},
        {"'l':{'type':'array','items':{'type':'string'}}", "{'l':['a',null]}", "spec.l[1]: Invalid value: `null`: spec.l[1] in body must be of type string: `null`"},
        {"'a':{'type':'array','items':{'type':'string'}}", "{'a':{}}", "spec.a: Invalid value: `object`: spec.a in body must be of type array: `object`"},
    };

    check_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 4.7.6, 4.7.7, 4.7.9, 4.7.10, 4.7.11, 4.7.25, 4.7.29, C9 to C15. */
TEST(structural_validate, checks_lengths_and_numbers)
{
    static const struct row rows[] = {
        {"'s':{'type':'string','maxLength':3}", "{'s':'bbbb'}", "spec.s: Too long: may not be more than 3 bytes"},
        {"'s':{'type':'string','maxLength':-1}", "{'s':''}", "spec.s: Too long: value is too long"},
        {"'s':{'type':'string','maxLength':1}", "{'s':'bb'}", "spec.s: Too long: may not be more than 1 byte"},
        {"'s':{'type':'string','maxLength':3}", "{'s':'\xc3\xa4\xc3\xb6\xc3\xbc'}", ""},
        {"'s':{'type':'string','minLength':2}", "{'s':'a'}", "spec.s: Invalid value: `a`: spec.s in body should be at least 2 chars long"},
        {"'n':{'type':'integer','minimum':1}", "{'n':0}", "spec.n: Invalid value: 0: spec.n in body should be greater than or equal to 1"},
        {"'n':{'type':'integer','minimum':1,'exclusiveMinimum':true}", "{'n':1}", "spec.n: Invalid value: 1: spec.n in body should be greater than 1"},
        {"'n':{'type':'number','maximum':1,'exclusiveMaximum':true}", "{'n':1.5}", "spec.n: Invalid value: 1.5: spec.n in body should be less than 1"},
        {"'n':{'type':'integer','maximum':2.9}", "{'n':3}", "spec.n: Invalid value: 3: spec.n in body should be less than or equal to 2"},
        {"'n':{'type':'number','maximum':1000000}", "{'n':1234567.5}", "spec.n: Invalid value: 1.2345675e+06: spec.n in body should be less than or equal to 1e+06"},
        {"'n':{'type':'integer','multipleOf':5}", "{'n':7}", "spec.n: Invalid value: 7: spec.n in body should be a multiple of 5"},
        {"'n':{'type':'integer','multipleOf':0.5}", "{'n':7}", "spec.n: Invalid value: 0: factor MultipleOf declared for spec.n must be positive: 0"},
        {"'n':{'type':'number','multipleOf':0.1}", "{'n':0.3}", ""},
        {"'n':{'type':'number','multipleOf':0.5}", "{'n':0.7}", "spec.n: Invalid value: 0.7: spec.n in body should be a multiple of 0.5"},
        {"'n':{'type':'integer','minLength':5,'minItems':3}", "{'n':7}", ""},
    };

    check_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 4.7.8, C9, C12. */
TEST(structural_validate, checks_patterns)
{
    static const struct row rows[] = {
        {"'s':{'type':'string','maxLength':3,'pattern':'^a'}", "{'s':'bbbb'}", "spec.s: Too long: may not be more than 3 bytes"},
        {"'s':{'type':'string','pattern':'^[a-z]+$'}", "{'s':'A'}", "spec.s: Invalid value: `A`: spec.s in body should match '^[a-z]+$'"},
        {"'s':{'type':'string','pattern':'b'}", "{'s':'abc'}", ""},
        {"'s':{'type':'string','pattern':'^\\\\p{L}$'}", "{'s':'\xc3\xa4'}", ""},
        {"'s':{'type':'string','pattern':'^a.c$'}", "{'s':'a\\nc'}", "spec.s: Invalid value: `a\\nc`: spec.s in body should match '^a.c$'"},
        {"'s':{'type':'string','pattern':'^a$'}", "{'s':'a\\n'}", "spec.s: Invalid value: `a\\n`: spec.s in body should match '^a$'"},
    };

    check_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 1.6.15. */
TEST(structural_validate, refuses_patterns_in_the_words_of_go)
{
    static const struct {
        const char *pattern, *why;
    } rows[] = {
        {"(", "error parsing regexp: missing closing ): `(`"},
        {"a)", "error parsing regexp: unexpected ): `a)`"},
        {"[a", "error parsing regexp: missing closing ]: `[a`"},
        {"*", "error parsing regexp: missing argument to repetition operator: `*`"},
        {"a**", "error parsing regexp: invalid nested repetition operator: `**`"},
        {"a\\", "error parsing regexp: trailing backslash at end of expression: ``"},
        {"[z-a]", "error parsing regexp: invalid character class range: `z-a`"},
        {"\\8", "error parsing regexp: invalid escape sequence: `\\8`"},
        {"a{1001}", "error parsing regexp: invalid repeat count: `{1001}`"},
        {"(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
        {"\\pX", "error parsing regexp: invalid character class range: `\\pX`"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = 1000};
        struct cor_pattern *pattern = NULL;

        assert_int_equal(cor_pattern_compile(cor_strz(rows[i].pattern), &pattern, &why), -COR_EINVALID);
        assert_string_equal(cor_buf_z(&why), rows[i].why);
    }
}

/* Contract crd 4.7.12, 4.7.13, 4.7.15, 4.7.16, 4.7.17, 4.7.18, C16 to C21. */
TEST(structural_validate, checks_lists_and_maps)
{
    static const struct row rows[] = {
        {"'l':{'type':'array','maxItems':-1,'items':{'type':'string'}}", "{'l':['a']}", "spec.l: Too many: 1: has too many items"},
        {"'l':{'type':'array','maxItems':1,'items':{'type':'string'}}", "{'l':['a','b']}", "spec.l: Too many: 2: must have at most 1 item"},
        {"'l':{'type':'array','minItems':2,'items':{'type':'string'}}", "{'l':[1]}",
         "spec.l[0]: Invalid value: `integer`: spec.l[0] in body must be of type string: `integer`|spec.l: Invalid value: 1: spec.l in body should have at least 2 items"},
        {"'m':{'type':'object','minProperties':1,'additionalProperties':{'type':'string'}}", "{'m':{}}", "spec.m: Invalid value: 0: spec.m in body should have at least 1 properties"},
        {"'m':{'type':'object','maxProperties':1,'additionalProperties':{'type':'string'}}", "{'m':{'a':'x','b':'y'}}", "spec.m: Too many: 2: must have at most 1 item"},
        {"'m':{'type':'object','additionalProperties':{'type':'string'}}", "{'m':{'a':1}}", "spec.m.a: Invalid value: `integer`: spec.m.a in body must be of type string: `integer`"},
        {"'m':{'type':'object','additionalProperties':false}", "{'m':{'a':1}}", "spec.m: Invalid value: `a`: spec.m.a in body is a forbidden property"},
    };

    check_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 4.7.19, 4.7.20, 4.7.21, 4.7.22, 4.7.24, C22 to C26. */
TEST(structural_validate, checks_junctors)
{
    static const struct row rows[] = {
        {"'a':{'type':'string'},'b':{'type':'string'}|'oneOf':[{'required':['a']},{'required':['b']}]", "{}",
         "<nil>: Invalid value: ``: `spec` must validate one and only one schema (oneOf). Found none valid|spec.a: Required value"},
        {"'a':{'type':'string'},'b':{'type':'string'}|'oneOf':[{'required':['a']},{'required':['b']}]", "{'a':'x','b':'y'}",
         "<nil>: Invalid value: ``: `spec` must validate one and only one schema (oneOf). Found 2 valid alternatives"},
        {"'a':{'type':'string'},'b':{'type':'string'}|'oneOf':[{'required':['a']},{'required':['b']}]", "{'b':'y'}", ""},
        {"'n':{'type':'integer','anyOf':[{'minimum':10},{'maximum':2}]}", "{'n':5}",
         "<nil>: Invalid value: ``: `spec.n` must validate at least one schema (anyOf)|spec.n: Invalid value: 5: spec.n in body should be greater than or equal to 10"},
        {"'n':{'type':'integer','anyOf':[{'minimum':10},{'maximum':2}]}", "{'n':1}", ""},
        {"'n':{'type':'integer','allOf':[{'minimum':10},{'maximum':20}]}", "{'n':5}",
         "spec.n: Invalid value: 5: spec.n in body should be greater than or equal to 10|<nil>: Invalid value: ``: `spec.n` must validate all the schemas (allOf)"},
        {"'n':{'type':'integer','allOf':[{'minimum':10},{'minimum':20}]}", "{'n':5}",
         "spec.n: Invalid value: 5: spec.n in body should be greater than or equal to 10|"
         "spec.n: Invalid value: 5: spec.n in body should be greater than or equal to 20|"
         "<nil>: Invalid value: ``: `spec.n` must validate all the schemas (allOf). None validated"},
        {"'s':{'type':'string','not':{'enum':['root']}}", "{'s':'root'}", "<nil>: Invalid value: ``: `spec.s` must not validate the schema (not)"},
        {"'s':{'type':'string','not':{'enum':['root']}}", "{'s':'x'}", ""},
        /* The same words are said once. */
        {"'n':{'type':'integer','minimum':10,'allOf':[{'minimum':10}]}", "{'n':5}",
         "spec.n: Invalid value: 5: spec.n in body should be greater than or equal to 10|"
         "<nil>: Invalid value: ``: `spec.n` must validate all the schemas (allOf). None validated"},
        /* All findings of the best branch are there, however many were found before. */
        {"'l':{'type':'array','items':{'type':'integer','oneOf':[{'maximum':1,'multipleOf':7,'enum':[8]},{'enum':[9]}]}}", "{'l':[20,30,40]}",
         "<nil>: Invalid value: ``: `spec.l[0]` must validate one and only one schema (oneOf). Found none valid|"
         "spec.l[0]: Invalid value: 20: spec.l[0] in body should be a multiple of 7|spec.l[0]: Invalid value: 20: spec.l[0] in body should be less than or equal to 1|"
         "spec.l[0]: Unsupported value: 20: supported values: `8`|"
         "<nil>: Invalid value: ``: `spec.l[1]` must validate one and only one schema (oneOf). Found none valid|"
         "spec.l[1]: Invalid value: 30: spec.l[1] in body should be a multiple of 7|spec.l[1]: Invalid value: 30: spec.l[1] in body should be less than or equal to 1|"
         "spec.l[1]: Unsupported value: 30: supported values: `8`|"
         "<nil>: Invalid value: ``: `spec.l[2]` must validate one and only one schema (oneOf). Found none valid|"
         "spec.l[2]: Invalid value: 40: spec.l[2] in body should be a multiple of 7|spec.l[2]: Invalid value: 40: spec.l[2] in body should be less than or equal to 1|"
         "spec.l[2]: Unsupported value: 40: supported values: `8`"},
        {"'e':{'type':'number','enum':[1]}", "{'e':1234567.5}", "spec.e: Unsupported value: 1.2345675e+06: supported values: `1`"},
        /* The branch with more matches is the best one. */
        {"'o':{'type':'object','properties':{'a':{'type':'integer'},'b':{'type':'integer'}},'anyOf':[{'required':['c']},"
         "{'required':['c'],'properties':{'a':{'minimum':1},'b':{'minimum':1}}}]}", "{'o':{'a':0,'b':0}}",
         "<nil>: Invalid value: ``: `spec.o` must validate at least one schema (anyOf)|"
         "spec.o.a: Invalid value: 0: spec.o.a in body should be greater than or equal to 1|"
         "spec.o.b: Invalid value: 0: spec.o.b in body should be greater than or equal to 1|spec.o.c: Required value"},
    };

    check_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 4.7.4, 4.8.1, 4.8.3, 4.8.4, 4.8.5, 4.8.6, C27 to C31. */
TEST(structural_validate, checks_formats)
{
    static const struct row rows[] = {
        {"'t':{'type':'string','format':'date-time'}", "{'t':'soon'}", "spec.t: Invalid value: `soon`: spec.t in body must be of type date-time: `soon`"},
        {"'t':{'type':'string','format':'date-time'}", "{'t':5}", "spec.t: Invalid value: `int64`: spec.t in body must be of type date-time: `int64`"},
        {"'t':{'type':'string','format':'date-time'}", "{'t':5.5}", "spec.t: Invalid value: `float64`: spec.t in body must be of type date-time: `float64`"},
        {"'t':{'type':'string','format':'date-time'}", "{'t':true}", "spec.t: Invalid value: ``: spec.t in body must be of type date-time: ``"},
        {"'t':{'type':'string','format':'date-time'}", "{'t':['a']}", ""},
        {"'t':{'type':'boolean','format':'password'}", "{'t':'x'}", ""},
        {"'i':{'type':'string','format':'ipv4'}", "{'i':'10.0.0.256'}", "spec.i: Invalid value: `10.0.0.256`: spec.i in body must be of type ipv4: `10.0.0.256`"},
        {"'h':{'type':'string','format':'k8s-short-name'}", "{'h':'Not_OK'}", ""},
        {"'h':{'type':'string','format':'no-such-format'}", "{'h':5}", "spec.h: Invalid value: `integer`: spec.h in body must be of type string: `integer`"},
    };

    check_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 4.8.2. */
TEST(structural_validate, knows_what_formats_accept)
{
    static const struct {
        const char *format, *good[6], *bad[6];
    } rows[] = {
        {"bsonobjectid", {"507f1f77bcf86cd799439011"}, {"507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g", ""}},
        {"uri", {"http://a/b", "/x", "mailto:x", "//x", "*"}, {"x", "", "a\tb", "http://[::1", "/%zz"}},
        {"email", {"a@b.c", "A <a@b.c>", "\"q q\"@b", "a@[1.2.3.4]", "a@b (c)", "g: a@b;"}, {"a", "a@", "@b", "a@b c", "a..b@c", "<a@b"}},
        {"hostname", {"a", "a-b", "example.com", "my-host.example.com", "1.org", "b\xc3\xbc.example.org"}, {"ab-c", "-a", "a.b.c", "a_b.com", "", "a-.com"}},
        {"ipv4", {"1.2.3.4", "010.0.0.1", "::ffff:1.2.3.4"}, {"1.2.3", "::1", ""}},
        {"ipv6", {"::1", "::ffff:1.2.3.4"}, {"1.2.3.4", "::ffff:01.2.3.4", ":::"}},
        {"cidr", {"10.0.0.0/8", "::/0", "010.0.0.1/08"}, {"10.0.0.0", "10.0.0.0/33"}},
        {"mac", {"00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455", "00:11:22:33:44:55:66:77"}, {"00:11:22:33:44", "00:11:22-33:44:55", "001122334455"}},
        {"uuid", {"0123ABCD-0123-0123-0123-0123456789ab", "0123abcd0123012301230123456789ab"}, {"0123abcd-0123-0123-0123-0123456789a", "x"}},
        {"uuid3", {"0123abcd-0123-3123-0123-0123456789ab"}, {"0123abcd-0123-4123-0123-0123456789ab"}},
        {"uuid4", {"0123abcd-0123-4123-8123-0123456789ab"}, {"0123abcd-0123-4123-0123-0123456789ab"}},
        {"uuid5", {"0123abcd-0123-5123-B123-0123456789ab"}, {"0123abcd-0123-5123-c123-0123456789ab"}},
        {"isbn", {"0321751043", "978-0321751041"}, {"0321751044", "978-0321751042"}},
        {"isbn10", {"0-8044-2957-X"}, {"978-0321751041"}},
        {"isbn13", {"978 0321751041"}, {"0321751043"}},
        {"creditcard", {"4111-1111-1111-1111", "378282246310005", "3530111333300000"}, {"4111-1111-1111-1112", "1234567812345670"}},
        {"ssn", {"123-45-6789", "123 45 6789"}, {"123456789", "123-45-678"}},
        {"hexcolor", {"#fff", "FFFFFF"}, {"#ffff", "ggg"}},
        {"rgbcolor", {"rgb(0, 255,9)", "rgb( 1,2 ,3 )"}, {"rgb(0,256,1)", "rgb(00,1,1)", "rgb(1,2)"}},
        {"byte", {"aGk=", "aGkh"}, {"", "aGk", "a=Gk", "aGk=\n"}},
        {"password", {"", "x"}, {0}},
        {"k8s-short-name", {"a", "a-1"}, {"", "A", "a.b", "-a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
        {"k8s-long-name", {"a", "a.b-1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, {"", "a..b", "A", "a."}},
        {"date", {"2024-02-29", "0000-01-01"}, {"2023-02-29", "2023-13-01", "2023-1-01", "2023-01-01 "}},
        {"duration", {"1h30m", "22 ns", "3 weeks", "in 5 MINUTES", "-1.5h"}, {"5", "", "5 x", "99999999999999999999 s"}},
        {"date-time", {"2024-02-29T23:59:59Z", "2024-02-29t00:00:00.5z", "2024-02-29T00:00:00+99:99"},
         {"2024-02-30T00:00:00Z", "2024-02-29T24:00:00Z", "2024-02-29T00:00:60Z", "2024-02-29 00:00:00Z", "2024-02-29T00:00:00"}},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        enum cor_string_format format = cor_string_format_find(cor_strz(rows[i].format));

        assert_int_not_equal(format, COR_STRING_FORMAT_NONE);
        for (size_t j = 0; j < 6; j++) {
            if (rows[i].good[j] && cor_string_format_accepts(format, cor_strz(rows[i].good[j])) != 1)
                fail_msg("%s does not accept %s", rows[i].format, rows[i].good[j]);
            if (rows[i].bad[j] && cor_string_format_accepts(format, cor_strz(rows[i].bad[j])) != 0)
                fail_msg("%s accepts %s", rows[i].format, rows[i].bad[j]);
        }
    }
    assert_int_equal(cor_string_format_find(COR_STR("datetime")), COR_STRING_FORMAT_DATE_TIME);
    assert_int_equal(cor_string_format_find(COR_STR("int32")), COR_STRING_FORMAT_NONE);
}

/* Contract crd 4.6.5. */
TEST(structural_validate, says_that_rules_were_not_checked)
{
#define NOT_CHECKED                                                                                \
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "   \
    "invalid; correct the existing errors to complete validation"
    static const char rules[] =
        "'a':{'type':'string','maxLength':1,'pattern':'^a','x-kubernetes-validations':[{'rule':'true'}]},'n':{'enum':['x']}";
    const struct row rows[] = {
        {rules, "{'a':'a'}", ""},
        {rules, "{'a':'b'}", "spec.a: Invalid value: `b`: spec.a in body should match '^a'"},
        {rules, "{'a':'aa'}", "spec.a: Too long: may not be more than 1 byte|" NOT_CHECKED},
        {rules, "{'a':1}", "spec.a: Invalid value: `integer`: spec.a in body must be of type string: `integer`|" NOT_CHECKED},
        {rules, "{'a':1,'n':'y'}", "spec.a: Invalid value: `integer`: spec.a in body must be of type string: `integer`|"
                                   "spec.n: Unsupported value: `y`: supported values: `x`|" NOT_CHECKED},
        {"'a':{'type':'string'}", "{'a':1}", "spec.a: Invalid value: `integer`: spec.a in body must be of type string: `integer`"},
    };

    check_rows(rows, COR_ARRAY_LEN(rows));
#undef NOT_CHECKED
}

/* Contract crd 4.9.3, 4.9.4, 4.9.5, D1 to D4. */
TEST(structural_validate, checks_repeated_items)
{
    static const char map[] = "'m':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['name'],"
                              "'items':{'type':'object','properties':{'name':{'type':'string'},'v':{'type':'integer'}}}}";
    static const char two[] = "'m':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['proto','port'],"
                              "'items':{'type':'object','properties':{'port':{'type':'integer'},'proto':{'type':'string'}}}}";
    static const char set[] = "'s':{'type':'array','x-kubernetes-list-type':'set','items':{'x-kubernetes-preserve-unknown-fields':true}}";
    static const struct row rows[] = {
        {set, "{'s':['a','b','a','a']}", "spec.s[2]: Duplicate value: `a`"},
        {set, "{'s':[1,1.0,2,1,2]}", "spec.s[3]: Duplicate value: 1|spec.s[4]: Duplicate value: 2"},
        {set, "{'s':[{'a':1},{'a':1}]}", "spec.s[1]: Duplicate value: {`a`:1}"},
        {map, "{'m':[{'name':'a'},{'name':'a','v':1}]}", "spec.m[1]: Duplicate value: {`name`:`a`}"},
        {map, "{'m':[{'name':'a'},{'v':1},{'v':2}]}", "spec.m[2]: Duplicate value: {}"},
        {map, "{'m':[{'name':'a'},{'name':'b'}]}", ""},
        {map, "{'m':[1]}", "spec.m[0]: Invalid value: `integer`: spec.m[0] in body must be of type object: `integer`|"
                           "spec.m[0]: Invalid value: 1: must be an object for an array of list-type map"},
        {two, "{'m':[{'port':1,'proto':'TCP'},{'port':1,'proto':'TCP'}]}", "spec.m[1]: Duplicate value: {`port`:1,`proto`:`TCP`}"},
    };
    struct cor_structural *schema = compile_spec(set);

    check_rows(rows, COR_ARRAY_LEN(rows));
    check_errors(schema, "{'kind':'K','apiVersion':'g','spec':{'s':['a','a','b','b']}}", "{'kind':'K','apiVersion':'g','spec':{'s':['a','a']}}", "");
    check_errors(schema, "{'kind':'K','apiVersion':'g','spec':{'s':['a','a']}}", "{'kind':'K','apiVersion':'g','spec':{'s':['a']}}", "spec.s[1]: Duplicate value: `a`");
    cor_structural_free(schema);
}

/* Contract crd 4.9.2, D5, D6. */
TEST(structural_validate, checks_embedded_resources)
{
#define MIXED "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with " \
              "an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
    static const char t[] = "'t':{'type':'object','x-kubernetes-embedded-resource':true,'x-kubernetes-preserve-unknown-fields':true}";
    static const char m[] = "'m':{'type':'object','additionalProperties':{'type':'object','x-kubernetes-embedded-resource':true,"
                            "'x-kubernetes-preserve-unknown-fields':true}}";
    static const struct row rows[] = {
        {t, "{'t':{'kind':'ConfigMap'}}", "spec.t.apiVersion: Required value"},
        {t, "{'t':{'apiVersion':'v1','kind':'ConfigMap'}}", ""},
        {t, "{'t':{'apiVersion':'v1','kind':'%','metadata':{'name':'..'}}}",
         "spec.t.kind: Invalid value: `%`: " MIXED "|spec.t.metadata.name: Invalid value: `..`: may not be '..'"},
        {t, "{'t':{'apiVersion':'a/b/c','kind':''}}",
         "spec.t.apiVersion: Invalid value: `a/b/c`: unexpected GroupVersion string: a/b/c|spec.t.kind: Invalid value: ``: must not be empty"},
        {t, "{'t':{'apiVersion':'v1','kind':'X','metadata':{'labels':{'a':'b'},'namespace':'n'}}}", ""},
        {m, "{'m':{'k':{'apiVersion':'v1'}}}", "spec.m[k].kind: Required value"},
    };

    check_rows(rows, COR_ARRAY_LEN(rows));
#undef MIXED
}

/* Contract crd 4.10.1, 4.10.2, 4.10.3, 4.10.4, 4.10.9, E1 to E8. */
TEST(structural_validate, forgives_mistakes_in_what_has_not_changed)
{
    static const struct {
        const char *properties, *old, *spec, *errors;
    } rows[] = {
        {"'n':{'type':'integer','maximum':10},'other':{'type':'string'}", "{'n':50}", "{'n':50,'other':'x'}", ""},
        {"'n':{'type':'integer','maximum':10}", "{'n':50}", "{'n':60}", "spec.n: Invalid value: 60: spec.n in body should be less than or equal to 10"},
        {"'n':{'type':'integer','maximum':10}", "{}", "{'n':50}", "spec.n: Invalid value: 50: spec.n in body should be less than or equal to 10"},
        {"'n':{'type':'integer'},'q':{'type':'string'}|'required':['q']", "{'n':1}", "{'n':1}", ""},
        {"'n':{'type':'integer'},'q':{'type':'string'}|'required':['q']", "{'n':1}", "{'n':2}", "spec.q: Required value"},
        {"'p':{'type':'object','x-kubernetes-preserve-unknown-fields':true}|'required':['q']", "{'p':{'a':1}}", "{'p':{'a':1}}", "spec.q: Required value"},
        {"'l':{'type':'array','items':{'type':'integer','maximum':10}}", "{'l':[50,5]}", "{'l':[50,5]}", ""},
        {"'l':{'type':'array','items':{'type':'integer','maximum':10}}", "{'l':[50,5]}", "{'l':[50,5,6]}",
         "spec.l[0]: Invalid value: 50: spec.l[0] in body should be less than or equal to 10"},
        {"'l':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['name'],'items':{'type':'object',"
         "'properties':{'name':{'type':'string'},'n':{'type':'integer','maximum':10}}}}",
         "{'l':[{'n':50,'name':'a'},{'n':1,'name':'b'}]}", "{'l':[{'n':1,'name':'c'},{'n':1,'name':'b'},{'n':50,'name':'a'}]}", ""},
        {"'m':{'type':'object','additionalProperties':{'type':'integer','maximum':10}}", "{'m':{'a':50}}", "{'m':{'a':50,'b':60}}",
         "spec.m.b: Invalid value: 60: spec.m.b in body should be less than or equal to 10"},
        /* Doubles are compared as numbers, and an integer is no double. */
        {"'n':{'type':'number','minimum':2}", "{'n':1e-7}", "{'n':1.0e-7}", ""},
        {"'l':{'type':'array','items':{'type':'number','minimum':2}}", "{'l':[{'a':0.5}]}", "{'l':[{'a':5e-1}]}", ""},
        {"'n':{'type':'number','minimum':2}", "{'n':1}", "{'n':1.0}", "spec.n: Invalid value: 1: spec.n in body should be greater than or equal to 2"},
        /* A changed object whose child fails is forgiven the child, a junctor is not taken apart. */
        {"'o':{'type':'object','properties':{'a':{'type':'integer'},'b':{'type':'string'}},'allOf':[{'properties':{'a':{'maximum':1}}}]}",
         "{'o':{'a':5}}", "{'o':{'a':5,'b':'x'}}",
         "spec.o.a: Invalid value: 5: spec.o.a in body should be less than or equal to 1|<nil>: Invalid value: ``: `spec.o` must validate all the schemas (allOf). None validated"},
    };
    struct cor_structural *schema;
    char object[JSON_MAX], old[JSON_MAX];

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        schema = compile_spec(rows[i].properties);
        snprintf(object, sizeof(object), "{'kind':'K','apiVersion':'g','spec':%s}", rows[i].spec);
        snprintf(old, sizeof(old), "{'kind':'K','apiVersion':'g','spec':%s}", rows[i].old);
        check_errors(schema, object, old, rows[i].errors);
        cor_structural_free(schema);
    }
    /* The object itself is never forgiven. */
    schema = compile("{'type':'object','required':['profile'],'properties':{'profile':{'type':'string'}}}");
    check_errors(schema, "{'kind':'K','apiVersion':'g'}", "{'kind':'K','apiVersion':'g'}", "profile: Required value");
    cor_structural_free(schema);
}

/* Contract crd 4.7.28, 4.7.23, 4.10.8, C32, F4. */
TEST(structural_validate, checks_the_status_alone)
{
    struct cor_structural *schema =
        compile("{'type':'object','required':['spec'],'properties':{'spec':{'type':'object'},"
                "'status':{'type':'object','properties':{'n':{'type':'integer','maximum':10}},'not':{'required':['bad']}}}}");
    char *found;

    found = find_errors(schema, "{'kind':'K','apiVersion':'g','status':{'n':15}}", NULL, true);
    assert_string_equal(found, "status.n: Invalid value: 15: n in body should be less than or equal to 10");
    cor_free(found);
    found = find_errors(schema, "{'kind':'K','apiVersion':'g','status':'x'}", NULL, true);
    assert_string_equal(found, "status: Invalid value: \"string\":  in body must be of type object: \"string\"|"
                               "status: Invalid value: \"\": \"\" must not validate the schema (not)");
    cor_free(found);
    found = find_errors(schema, "{'kind':'K','apiVersion':'g','status':{'n':15}}", "{'kind':'K','apiVersion':'g','status':{'n':15}}", true);
    assert_string_equal(found, "");
    cor_free(found);
    check_errors(schema, "{'kind':'K','apiVersion':'g'}", NULL, "spec: Required value");
    cor_structural_free(schema);
}

/* clang-format on */

TEST(structural_validate, keeps_a_bounded_number_of_errors)
{
    struct cor_structural *schema = compile_spec("'l':{'type':'array','items':{'type':'string'}}");
    COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {.max = 1u << 20};
    struct cor_field_errors errors;
    struct cor_structural_validation validation;

    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"spec\":{\"l\":[0"), 0);
    for (int i = 1; i < 10000; i++)
        assert_int_equal(cor_buf_addf(&object, ",%d", i), 0);
    assert_int_equal(cor_buf_addz(&object, "]}}"), 0);
    validation = (struct cor_structural_validation){.object = cor_buf_str(&object)};
    cor_field_errors_init(&errors);
    cor_structural_validate(schema, &validation, &errors);
    assert_int_equal(errors.error, 0);
    assert_int_equal(errors.n, COR_STATUS_CAUSES_MAX);
    cor_field_errors_deinit(&errors);
    cor_structural_free(schema);
}

/* The mistakes of branches that do not count take no memory: the schema is the usual one of an
 * integer or a string. */
TEST(structural_validate, accepts_a_long_list_whose_items_fit_the_second_branch)
{
    struct cor_structural *schema = compile_spec(
        "'l':{'type':'array','items':{'anyOf':[{'type':'integer'},{'type':'string'}],"
        "'oneOf':[{'type':'integer'},{'type':'string'}],'x-kubernetes-int-or-string':true}}");
    COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {.max = 4u << 20};
    struct cor_field_errors errors;
    struct cor_structural_validation validation;

    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"spec\":{\"l\":[\"\""), 0);
    for (int i = 1; i < 1000000; i++)
        assert_int_equal(cor_buf_addz(&object, ",\"\""), 0);
    assert_int_equal(cor_buf_addz(&object, "]}}"), 0);
    validation = (struct cor_structural_validation){.object = cor_buf_str(&object)};
    cor_field_errors_init(&errors);
    cor_structural_validate(schema, &validation, &errors);
    assert_int_equal(errors.error, 0);
    assert_int_equal(errors.n, 0);
    cor_field_errors_deinit(&errors);
    cor_structural_free(schema);
}

/* The work is n log n in the values, or this test takes minutes. 4.7.5: a number is compared with
 * an integer after it was truncated. */
TEST(structural_validate, finds_values_among_many_of_an_enum)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 4u << 20}, object = {.max = 4u << 20};
    struct cor_structural *schema = NULL;
    struct cor_structural_validation validation;
    struct cor_field_errors errors;

    assert_int_equal(cor_buf_addz(&text,
                                  "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":"
                                  "\"array\",\"items\":{\"x-kubernetes-preserve-unknown-fields\":"
                                  "true,\"enum\":[1.5"),
                     0);
    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"l\":[1.5,7.25,\"v60000\""), 0);
    for (int i = 59999; i >= 0; i--)
        assert_int_equal(cor_buf_addf(&text, ",\"v%05d\",%d", i, i), 0);
    for (int i = 0; i < 60000; i++)
        assert_int_equal(cor_buf_addf(&object, ",\"v%05d\",%d,%d.0", i, i, i), 0);
    assert_int_equal(cor_buf_addz(&text, "]}}}}"), 0);
    assert_int_equal(cor_buf_addz(&object, ",60000,2.5e5,-1]}"), 0);
    assert_int_equal(cor_structural_compile(cor_buf_str(&text), NULL, &schema, NULL), 0);
    validation = (struct cor_structural_validation){.object = cor_buf_str(&object)};
    cor_field_errors_init(&errors);
    cor_structural_validate(schema, &validation, &errors);
    assert_int_equal(errors.error, 0);
    assert_int_equal(errors.n, 4);
    assert_string_equal(errors.v[0].field, "l[2]");
    assert_string_equal(errors.v[1].field, "l[180003]");
    assert_string_equal(errors.v[3].field, "l[180005]");
    cor_field_errors_deinit(&errors);
    cor_structural_free(schema);
}

/* The work is n log n in the names, or this test takes minutes. */
TEST(structural_validate, finds_which_of_many_required_names_are_absent)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 4u << 20}, object = {.max = 4u << 20};
    struct cor_structural *schema = NULL;
    struct cor_structural_validation validation;
    struct cor_field_errors errors;

    assert_int_equal(cor_buf_addz(&text, "{\"type\":\"object\",\"required\":[\"kind\",\"spec\""),
                     0);
    assert_int_equal(cor_buf_addz(&object, "{\"kind\":\"K\",\"apiVersion\":\"g/v1\",\"a\":1"), 0);
    for (int i = 99999; i >= 0; i--)
        assert_int_equal(cor_buf_addf(&text, ",\"r%05d\"", i), 0);
    for (int i = 0; i < 100000; i++) {
        if (i != 7 && i != 50000)
            assert_int_equal(cor_buf_addf(&object, ",\"r%05d\":1", i), 0);
    }
    assert_int_equal(cor_buf_addz(&text, ",\"a\",\"apiVersion\"]}"), 0);
    assert_int_equal(cor_buf_addz(&object, "}"), 0);
    assert_int_equal(cor_structural_compile(cor_buf_str(&text), NULL, &schema, NULL), 0);
    validation = (struct cor_structural_validation){.object = cor_buf_str(&object)};
    cor_field_errors_init(&errors);
    cor_structural_validate(schema, &validation, &errors);
    assert_int_equal(errors.error, 0);
    assert_int_equal(errors.n, 3);
    assert_string_equal(errors.v[0].field, "spec");
    assert_string_equal(errors.v[1].field, "r50000");
    assert_string_equal(errors.v[2].field, "r00007");
    cor_field_errors_deinit(&errors);
    cor_structural_free(schema);
}

TEST(structural_validate, survives_failed_allocations)
{
    struct cor_structural *schema = compile_spec(
        "'s':{'type':'string','enum':['a'],'format':'uri'},'l':{'type':'array',"
        "'x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['n'],'items':{'type':'object',"
        "'properties':{'n':{'type':'string','maxLength':1}}}},"
        "'o':{'type':'object','anyOf':[{'required':['a']},{'required':['b']}]},"
        "'q':{'type':'object','required':['a','b','c','d','e','f','g','h','i','j','k','l','m','n','o','p','q']},"
        "'t':{'type':'object','x-kubernetes-embedded-resource':true}");
    char object[JSON_MAX], old[JSON_MAX];
    struct cor_structural_validation validation = {
        .object = quoted(
            "{'kind':'K','spec':{'l':[{'n':'x\\ny'},{'n':'x\\ny'}],'o':{},'q':{},'s':'b\\n','t':{'metadata':{'name':'..'}}}}",
            object),
        .old = quoted("{'kind':'K','spec':{'l':[{'n':'x\\ny'}],'s':'c'}}", old)};
    size_t whole = 0;

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_field_errors errors;

        cor_field_errors_init(&errors);
        cor_structural_validate(schema, &validation, &errors);
        cor_structural_check_embedded(schema, &validation, &errors);
        cor_structural_check_lists(schema, &validation, &errors);
        assert_int_equal(errors.error, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (errors.error == 0)
            whole = errors.n;
        cor_field_errors_deinit(&errors);
    }
    assert_int_equal(whole, 8 + 17);
    cor_structural_free(schema);
}

TEST(structural_validate, checks_of_defaults_survive_failed_allocations)
{
    const struct cor_field_path path = cor_field_root(COR_STR("schema"));
    struct cor_structural *schema = compile_spec(
        "'t':{'type':'object','x-kubernetes-embedded-resource':true,'x-kubernetes-preserve-unknown-fields':true,"
        "'default':{'kind':'%','metadata':{'name':'..','x':1}}},'m':{'type':'object','x-kubernetes-embedded-resource':true,"
        "'properties':{'metadata':{'type':'object','properties':{'name':{'type':'string','default':'..'}}}}},'o':{'type':'object','default':{'a':'x','z':1},"
        "'properties':{'a':{'type':'integer'}}}");
    size_t whole = 0;

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_field_errors errors;

        cor_field_errors_init(&errors);
        cor_structural_check_defaults(schema, &path, &errors);
        assert_int_equal(errors.error, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (errors.error == 0)
            whole = errors.n;
        cor_field_errors_deinit(&errors);
    }
    /* apiVersion, kind and name of the resource, the name of another; an unknown field and the type
     * of the last. */
    assert_int_equal(whole, 3 + 1 + 2);
    cor_structural_free(schema);
}

/* Patterns that are kept are charged to their schema, and a schema has only so much. */
TEST(structural_validate, keeps_patterns_until_their_account_is_full)
{
    static struct cor_pattern_account account;
    struct cor_pattern *kept[COR_PATTERN_ACCOUNT_MAX / (64u << 10)], *pattern;

    for (size_t i = 0; i < COR_ARRAY_LEN(kept); i++) {
        assert_int_equal(cor_pattern_compile(COR_STR("^a+$"), &kept[i], NULL), 0);
        assert_true(cor_pattern_keep(kept[i], &account));
    }
    assert_int_equal(cor_pattern_compile(COR_STR("^a+$"), &pattern, NULL), 0);
    assert_false(cor_pattern_keep(pattern, &account));
    assert_int_equal(cor_pattern_matches(pattern, COR_STR("aaa")), 1);
    cor_pattern_free(kept[0]);
    assert_true(cor_pattern_keep(pattern, &account));
    cor_pattern_free(pattern);
    for (size_t i = 1; i < COR_ARRAY_LEN(kept); i++)
        cor_pattern_free(kept[i]);
    assert_int_equal(atomic_load(&account.bytes), 0);
}

/* A pattern gets what it needs, up to the maximum; one that needs more is refused, as a large one
 * is by Go. */
TEST(structural_validate, bounds_what_a_pattern_takes)
{
    struct cor_pattern_account account = {0};
    struct cor_pattern *pattern = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = 4096};

    assert_int_equal(cor_pattern_compile(COR_STR("^[^a]{900}$"), &pattern, NULL), 0);
    assert_true(cor_pattern_keep(pattern, &account));
    assert_true(atomic_load(&account.bytes) > 64u << 10);
    cor_pattern_free(pattern);
    assert_int_equal(cor_pattern_compile(COR_STR("^[\\pL\\pS]{999}$"), &pattern, &why),
                     -COR_EINVALID);
    assert_non_null(strstr(cor_buf_z(&why), "expression too large"));
}
