import Testing

@testable import TransferModel

@Suite struct ByteFormatTests {
    @Test(
        arguments: [
            (0, "0 B"), (512, "512 B"), (999, "999 B"), (1_000, "1.0 KB"), (2_400_000, "2.4 MB"), (99_949, "99.9 KB"),
            (99_950, "100 KB"), (110_000_000, "110 MB"), (999_499, "999 KB"), (999_500, "1.0 MB"),
            (27_100_000, "27.1 MB"), (1_200_000_000, "1.2 GB"), (.max, "18.4 EB"),
        ] as [(UInt64, String)]) func size(_ bytes: UInt64, text: String)
    {
        #expect(ByteFormat.size(bytes) == text)
    }

    @Test(
        arguments: [
            (0, 512, "0 of 512 B"), (12_300_000, 27_100_000, "12.3 of 27.1 MB"), (0, 27_100_000, "0.0 of 27.1 MB"),
            (500, 2_000_000_000, "0.0 of 2.0 GB"), (110_000_000, 240_000_000, "110 of 240 MB"),
            (30_000_000, 27_100_000, "30.0 of 27.1 MB"), (.max, .max, "18.4 of 18.4 EB"),
            (.max, 0, "\(UInt64.max) of 0 B"),
        ] as [(UInt64, UInt64, String)]) func portion(_ part: UInt64, of whole: UInt64, text: String)
    {
        #expect(ByteFormat.portion(part, of: whole) == text)
    }

    @Test(
        arguments: [
            (0, "0 B/s"), (0.4, "0 B/s"), (1_200_000_000, "1.2 GB/s"), (-5, "0 B/s"), (.nan, "0 B/s"),
            (.infinity, "18.4 EB/s"), (-.infinity, "0 B/s"), (1e300, "18.4 EB/s"), (0x1p64, "18.4 EB/s"),
        ] as [(Double, String)]) func rate(_ bytesPerSecond: Double, text: String)
    {
        #expect(ByteFormat.rate(bytesPerSecond) == text)
    }

    @Test(
        arguments: [
            (0, 100, 0), (1, 3, 33), (2, 3, 66), (999, 1_000, 99), (1_000, 1_000, 100), (5, 3, 100), (0, 0, 100),
            (.max - 1, .max, 99), (.max, .max, 100),
        ] as [(UInt64, UInt64, Int)]) func percent(_ part: UInt64, of whole: UInt64, percent: Int)
    {
        #expect(ByteFormat.percent(part, of: whole) == percent)
    }

    @Test(arguments: [
        (0, 2, "0.00"), (0.004, 2, "0.00"), (0.005, 2, "0.01"), (1.5, 2, "1.50"), (59.999, 2, "60.00"),
        (12.3456, 3, "12.346"), (7, 1, "7.0"), (-1.25, 2, "-1.25"), (.infinity, 2, "inf"), (1e300, 1, "1e+300"),
    ])
    func decimals(_ number: Double, _ decimals: Int, _ text: String) {
        #expect(number.shown(decimals: decimals) == text)
    }
}
