import Testing
import TransferModel

@testable import TransferClient

/// Looks at files that keep changing.
@Suite struct SettlingFilesLooksTests {
    private var files = SettlingFiles(settle: .seconds(2))
    private let grows = PathKey("grows")

    /// Looks at the file whenever a look is due until `end`, with another size each time.
    ///
    /// - Returns: the times of looks, and the times at which users are notified.
    private mutating func grow(until end: Double) -> (looks: [Double], told: [Double]) {
        var (looks, told): ([Double], [Double]) = ([], [])
        while let next = files.nextLook, next <= second(end) {
            let seconds = (next - second(0)).seconds
            for path in files.takeDue(next, atMost: 1) {
                looks.append(seconds)
                let size = looks.count + 1
                if files.looked(path, look(size), at: next) == .keepsChanging { told.append(seconds) }
            }
        }
        return (looks, told)
    }

    @Test mutating func isLookedAtLessAndLessOftenAndToldOnce() {
        _ = files.noticed(grows, look(1), .complete, at: second(0))
        let (looks, told) = grow(until: 400)
        #expect(looks == [2, 4, 6, 22, 54, 114, 174, 234, 294, 354])
        #expect(told == [54])
        #expect(files.takeBatch(files: 1, bytes: .max) == [])
    }

    /// The pause between looks is never shorter than the settle time, here ten minutes.
    @Test mutating func neverMoreOftenThanItHasToRest() {
        files = SettlingFiles(settle: .seconds(600))
        _ = files.noticed(grows, look(1), .complete, at: second(0))
        #expect(grow(until: 3_000).looks == [600, 1_200, 1_800, 2_400, 3_000])
    }

    /// The writer has closed the file, so the long pause until the next look is cut short.
    @Test mutating func isSentSoonAfterItsWriterHasClosedIt() {
        _ = files.noticed(grows, look(1), .complete, at: second(0))
        _ = grow(until: 300)
        _ = files.noticed(grows, look(99), .complete, at: second(300))
        #expect(files.takeDue(second(301.9), atMost: 1) == [])
        #expect(files.takeDue(second(302), atMost: 1) == [grows])
        #expect(files.looked(grows, look(99), at: second(302)) == .ready)
    }

    @Test mutating func comesBehindOthers() {
        _ = files.noticed(grows, look(1), .complete, at: second(0))
        for change in 1...3 { _ = files.noticed(grows, look(1 + change), .complete, at: second(Double(change))) }
        _ = files.noticed(PathKey("late"), look(1), .complete, at: second(4))
        for (path, seen) in [(grows, look(4)), (PathKey("late"), look(1))] {
            #expect(files.looked(path, seen, at: second(6)) == .ready)
        }
        #expect(files.takeBatch(files: 9, bytes: .max).map(\.string) == ["late", "grows"])
    }

    @Test mutating func twoChangesAreNothingUnusual() {
        _ = files.noticed(grows, look(1), .complete, at: second(0))
        for change in 1...2 { _ = files.noticed(grows, look(1 + change), .complete, at: second(Double(change))) }
        _ = files.noticed(PathKey("late"), look(1), .complete, at: second(4))
        for (path, seen) in [(grows, look(3)), (PathKey("late"), look(1))] {
            #expect(files.looked(path, seen, at: second(6)) == .ready)
        }
        #expect(files.takeBatch(files: 9, bytes: .max).map(\.string) == ["grows", "late"])
    }

    /// A look at an unknown path changes nothing.
    @Test mutating func aLookAtWhatIsUnknownIsNothing() {
        #expect(files.looked(grows, look(1), at: second(0)) == .waits)
        #expect(files.isIdle && files.candidates.isEmpty)
    }
}
