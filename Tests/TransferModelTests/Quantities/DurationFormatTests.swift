import Testing

@testable import TransferModel

@Suite struct DurationFormatTests {
    @Test(
        arguments: [
            (0, "0:00"), (7, "0:07"), (7.9, "0:07"), (60, "1:00"), (754, "12:34"), (3_599, "59:59"), (3_600, "1:00:00"),
            (3_723, "1:02:03"), (360_000, "100:00:00"), (1e300, "999:59:59"), (.infinity, "999:59:59"), (.nan, "0:00"),
            (-3, "0:00"), (-.infinity, "0:00"),
        ] as [(Double, String)]) func clock(_ seconds: Double, text: String)
    {
        #expect(DurationFormat.clock(seconds) == text)
    }

    @Test(
        arguments: [
            (0, "0 seconds"), (1, "1 seconds"), (119, "119 seconds"), (120, "2 minutes"), (7_199, "119 minutes"),
            (7_200, "2 hours"), (172_799, "47 hours"), (172_800, "2 days"), (.max, "49710 days"),
        ] as [(UInt32, String)]) func words(_ seconds: UInt32, text: String)
    {
        #expect(DurationFormat.words(seconds) == text)
    }

    @Test func after() {
        #expect(DurationFormat.after(0.4) == "at once" && DurationFormat.after(-1) == "at once")
        #expect(DurationFormat.after(1) == "in 0:01" && DurationFormat.after(.nan) == "at once")
    }
}
