import Glibc
import Testing
import TransferTestSupport

@testable import TransferCLI

@Suite struct ModificationBoundTests {
    private static let now: Int64 = 1_700_000_000_250_000_000

    @Test(arguments: [
        ("7d", 1_699_395_200, 250_000_000), ("1h", 1_699_996_400, 250_000_000), ("500ms", 1_699_999_999, 750_000_000),
        ("10000d", 836_000_000, 250_000_000), ("2026-01-31T18:30:05Z", 1_769_884_205, 0),
        ("1969-12-31T23:59:59Z", -1, 0), ("2024-02-29T00:00Z", 1_709_164_800, 0),
    ])
    func points(_ text: String, _ seconds: Int64, _ nanoseconds: UInt32) throws {
        let bound = try ModificationBound(text, now: Self.now)
        #expect((bound.seconds, bound.nanoseconds) == (seconds, nanoseconds))
    }

    @Test func beforeTheBeginning() throws {
        let bound = try ModificationBound("1ms", now: 0)
        #expect((bound.seconds, bound.nanoseconds) == (-1, 999_000_000))
    }

    @Test func localDates() throws {
        let day = try ModificationBound("2026-01-31", now: Self.now)
        let minute = try ModificationBound("2026-01-31T00:01", now: Self.now)
        #expect(minute.seconds - day.seconds == 60)
        var time = time_t(day.seconds)
        var fields = tm()
        localtime_r(&time, &fields)
        #expect((fields.tm_year, fields.tm_mon, fields.tm_mday, fields.tm_hour) == (126, 0, 31, 0))
    }

    @Test func files() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("7d")
        try writeFile(path, [])
        let time = timespec(tv_sec: 1_234, tv_nsec: 5)
        #expect(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        let bound = try ModificationBound(path, now: Self.now)
        #expect((bound.seconds, bound.nanoseconds) == (1_234, 5))
    }

    @Test(arguments: [
        "7", "7w", "2026", "2026-13-01", "2026-02-30", "2026-01-31T24:00Z", "2026-01-31T10:60Z", "2026-01-31 10:00",
        "2026-01-31Z", "26-01-31", "", "99999d", "-1d",
    ])
    func whatIsNone(_ text: String) {
        #expect(throws: ModificationBound.Fault.self) { try ModificationBound(text, now: Self.now) }
    }
}
