import Testing
import TransferModel

@testable import TransferClient

/// All tests settle files for two seconds.
@Suite struct SettlingFilesTests {
    private var files = SettlingFiles(settle: .seconds(2))
    private let a = PathKey("a")
    private let b = PathKey("b")

    /// Files taken for sending at this time, if each due look finds `look`.
    private mutating func turn(_ at: Double, _ look: SettlingFiles.Look?) -> [PathKey] {
        for path in files.takeDue(second(at), atMost: 100) { _ = files.looked(path, look, at: second(at)) }
        return files.takeBatch(files: 100, bytes: .max)
    }

    @Test mutating func isSentWhenItLooksTheSameTwice() {
        #expect(files.isIdle && files.nextLook == nil && !files.hasReady)
        _ = files.noticed(a, look(1), .complete, at: second(0))
        #expect(!files.isIdle && files.nextLook == second(2))
        #expect(turn(1.9, look(1)) == [])
        #expect(turn(2, look(1)) == [a])
        #expect(files.sending == [a] && !files.hasReady && !files.isIdle)
        files.acknowledged(a)
        #expect(files.isIdle && files.sending == [])
    }

    /// Size, modification time and inode all count as changes.
    @Test(arguments: [look(2), look(1, inode: 2), look(1, modified: 1_001)])
    mutating func restsAnewWhenItHasChanged(_ other: SettlingFiles.Look) {
        _ = files.noticed(a, look(1), .complete, at: second(0))
        #expect(turn(2, other) == [])
        #expect(turn(3.9, other) == [])
        #expect(turn(4, other) == [a])
    }

    @Test mutating func isForgottenWhenItIsGone() {
        _ = files.noticed(a, look(1), .complete, at: second(0))
        #expect(turn(2, nil) == [])
        #expect(files.isIdle && files.candidates.isEmpty)
        _ = files.noticed(a, look(1), .complete, at: second(3))
        files.vanished(a)
        files.vanished(a)
        #expect(files.isIdle)
        #expect(turn(9, look(1)) == [])
    }

    /// A link to a file is never closed by a writer, so it settles after ten times as long.
    @Test mutating func whatWasOnlyMadeRestsLonger() {
        _ = files.noticed(a, look(1), .begun, at: second(0))
        #expect(turn(19, look(1)) == [])
        #expect(turn(20, look(1)) == [a])
    }

    @Test mutating func whatWasMadeAndClosedDoesNot() {
        _ = files.noticed(a, look(0), .begun, at: second(0))
        _ = files.noticed(a, look(1), .complete, at: second(1))
        #expect(turn(3, look(1)) == [a])
    }

    /// The file has not changed since it was made, so the time since then counts.
    @Test mutating func whatIsClosedUnchangedHasRestedAlready() {
        _ = files.noticed(a, look(0), .begun, at: second(0))
        _ = files.noticed(a, look(0), .complete, at: second(3))
        #expect(turn(3, look(0)) == [a])
    }

    @Test mutating func whatWaitsForItsTurnRestsAnewWhenItChanges() {
        _ = files.noticed(a, look(1), .complete, at: second(0))
        for path in files.takeDue(second(2), atMost: 1) {
            #expect(files.looked(path, look(1), at: second(2)) == .ready)
        }
        #expect(files.hasReady)
        _ = files.noticed(a, look(1), .complete, at: second(3))
        _ = files.noticed(a, look(2), .complete, at: second(4))
        #expect(files.takeBatch(files: 1, bytes: .max) == [])
        #expect(turn(6, look(2)) == [a])
    }

    /// A busy writer makes thousands of events; they share one look.
    @Test mutating func isLookedAtOnceHoweverOftenItIsNoticed() {
        for _ in 0..<1_000 { _ = files.noticed(a, look(1), .complete, at: second(0)) }
        #expect(files.takeDue(second(2), atMost: 100) == [a])
        #expect(files.takeDue(second(100), atMost: 100) == [])
    }

    @Test mutating func looksAreTakenInParts() {
        for number in 0..<10 { _ = files.noticed(PathKey("\(number)"), look(1), .complete, at: second(Double(number))) }
        #expect(files.takeDue(second(100), atMost: 4).map(\.string) == ["0", "1", "2", "3"])
        #expect(files.takeDue(second(7), atMost: 4).map(\.string) == ["4", "5"])
        #expect(files.nextLook == second(8))
    }

    @Test mutating func namesThatLookAlikeAreTwoFiles() {
        let (one, two) = (PathKey("\u{E9}"), PathKey("e\u{301}"))
        _ = files.noticed(one, look(1), .complete, at: second(0))
        _ = files.noticed(two, look(1), .complete, at: second(0))
        #expect(Set(turn(2, look(1))) == [one, two])
    }

    @Test mutating func whatIsBeingSentGetsItsAnswerWhenTheDirectoryIsGone() {
        _ = files.noticed(a, look(1), .complete, at: second(0))
        #expect(turn(2, look(1)) == [a])
        _ = files.noticed(b, look(1), .complete, at: second(2))
        files.clear()
        #expect(files.sending == [a] && files.candidates.count == 1)
        files.acknowledged(a)
        #expect(files.isIdle)
        #expect(turn(9, look(1)) == [])
    }
}
