#include <stdio.h>

int main(void)
{
    puts("coracle " COR_VERSION);
    return 0;
}
