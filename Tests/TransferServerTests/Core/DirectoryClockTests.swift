import Testing
import TransferTestSupport

@testable import TransferServer

/// The age of files in a directory, whatever the machine's clock is set to.
@Suite struct DirectoryClockTests {
    private static let day: Int64 = 86_400
    private static let year = 365 * day
    private static let start: Int64 = 1_800_000_000

    /// Makes a clock that has been looked at once an hour for some days.
    ///
    /// - Returns: the clock, and the machine's time and age at the end.
    private func clock(days: Int64, from utc: Int64 = start) -> (clock: DirectoryClock, utc: Int64, age: Int64) {
        var clock = DirectoryClock()
        for hour in 0...days * 24 { clock.look(utc: utc + hour * 3600, boot: "a", age: hour * 3600) }
        return (clock, utc + days * Self.day, days * Self.day)
    }

    @Test func withoutASetClockItIsTheMachines() {
        let (clock, utc, _) = clock(days: 10)
        #expect(clock.age(of: utc) == 0)
        #expect(clock.age(of: utc - 3 * Self.day) == 3 * Self.day)
        // A file from before the first look.
        #expect(clock.age(of: utc - Self.year) == Self.year)
    }

    /// Setting the machine's clock makes no file older. Files stored afterwards age normally.
    @Test(arguments: [Self.year, -Self.year, 10 * Self.year, -50 * Self.year, 120, -120])
    func aClockThatIsSet(by jump: Int64) {
        var (clock, utc, age) = clock(days: 10)
        let before = utc - 2 * Self.day
        utc += jump + 3600
        age += 3600
        clock.look(utc: utc, boot: "a", age: age)
        #expect(clock.age(of: before) == 2 * Self.day + 3600)
        let after = utc
        for _ in 0..<24 * 5 {
            utc += 3600
            age += 3600
            clock.look(utc: utc, boot: "a", age: age)
        }
        #expect(clock.age(of: before) == 7 * Self.day + 3600)
        #expect(clock.age(of: after) == 5 * Self.day)
        #expect(clock.age(of: utc) == 0)
    }

    /// The machine's clock is set wrong and then right again.
    @Test func aMistakeThatIsPutRight() {
        var (clock, utc, age) = clock(days: 10)
        clock.look(utc: utc + Self.year, boot: "a", age: age + 3600)
        let during = utc + Self.year
        clock.look(utc: utc + 7200, boot: "a", age: age + 7200)
        #expect(clock.age(of: utc - Self.day) == Self.day + 7200)
        #expect(clock.age(of: during) == 3600)
        #expect(clock.age(of: utc + 7200) == 0)
        (utc, age) = (utc + 7200, age + 7200)
        clock.look(utc: utc + 30 * Self.day, boot: "a", age: age + 30 * Self.day)
        #expect(clock.age(of: during) == 30 * Self.day + 3600)
    }

    /// The machine starts with a clock of 1970, which is set later, and it is off for a long time.
    @Test func anotherRunOfTheKernel() {
        var (clock, utc, _) = clock(days: 10)
        let before = utc - 2 * Self.day
        clock.look(utc: 5, boot: "b", age: 10)
        #expect(clock.age(of: before) == 2 * Self.day)
        utc += 20 * Self.day
        clock.look(utc: utc, boot: "b", age: 40)
        #expect(clock.age(of: before) == 2 * Self.day + 30)
        clock.look(utc: utc + 20 * Self.day, boot: "c", age: 10)
        #expect(clock.age(of: before) == 3 * Self.day + 30)
        clock.look(utc: utc + 20 * Self.day + 3600, boot: "c", age: 3610)
        #expect(clock.age(of: before) == 3 * Self.day + 3630)
    }

    /// A moment that the clock has not seen counts as recent, so it makes no file too old.
    @Test func momentsThatNobodyHasSeen() {
        var (clock, utc, age) = clock(days: 10)
        clock.look(utc: utc + Self.year, boot: "a", age: age)
        #expect(clock.age(of: utc + Self.day) == 0)
        #expect(clock.age(of: utc + 2 * Self.year) == 0)
        #expect(clock.age(of: .max) == 0)
        #expect(DirectoryClock().age(of: 5) == 0)
    }

    @Test func itIsReadAsItWasWritten() throws {
        var (clock, utc, age) = clock(days: 10)
        for jump in 0..<200 { clock.look(utc: utc + Int64(jump % 2) * Self.year, boot: "a", age: age + Int64(jump)) }
        #expect(DirectoryClock(clock.text) == clock)
        #expect(clock.text.utf8.count < 4096)
        for text in ["", "\n", "a\n", "a b\n", "a 1\n1 2\n", "a 1\n1 2 x\n", "a 1\n1 2 3 4\n"] {
            #expect(DirectoryClock(text) == nil, "\(text)")
        }
        // A damaged file may contain any numbers.
        let odd = try #require(DirectoryClock("a \(Int64.max)\n\(Int64.max) \(Int64.min) \(Int64.max)\n"))
        for moment in [Int64.min, 0, .max] { _ = odd.age(of: moment) }
        var looked = odd
        for utc in [Int64.min, 0, .max] { looked.look(utc: utc, boot: "b", age: utc) }
    }
}
