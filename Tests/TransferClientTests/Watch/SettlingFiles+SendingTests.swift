import Testing
import TransferModel

@testable import TransferClient

@Suite struct SettlingFilesSendingTests {
    private var files = SettlingFiles(settle: .seconds(2))
    private let a = PathKey("a")

    /// Makes files ready, in the order of their names in the list.
    private mutating func ready(_ names: [String], _ size: Int = 1, at start: Double = 0) {
        for name in names { _ = files.noticed(PathKey(name), look(size), .complete, at: second(start)) }
        for path in files.takeDue(second(start + 2), atMost: 100) {
            #expect(files.looked(path, look(size), at: second(start + 2)) == .ready)
        }
    }

    /// Begins to send the file `a`.
    private mutating func send() {
        ready(["a"])
        #expect(files.takeBatch(files: 1, bytes: .max) == [a])
    }

    @Test mutating func batchesEndAtFilesAndBytes() {
        ready(["1", "2", "3", "4", "5"], 10)
        #expect(files.takeBatch(files: 2, bytes: .max).map(\.string) == ["1", "2"])
        #expect(files.takeBatch(files: 9, bytes: 11).map(\.string) == ["3", "4"])
        #expect(files.takeBatch(files: 9, bytes: 1).map(\.string) == ["5"])
        #expect(files.takeBatch(files: 9, bytes: .max) == [])
    }

    @Test mutating func sizesWithoutEndDontOverflow() {
        ready(["1", "2", "3"], .max)
        #expect(files.takeBatch(files: 9, bytes: .max).count == 3)
    }

    @Test mutating func whatHasChangedMeanwhileRestsAnew() {
        send()
        files.changed(a, look(2), at: second(5))
        #expect(files.sending == [] && files.nextLook == second(7))
        #expect(files.takeDue(second(7), atMost: 1) == [a])
        #expect(files.looked(a, look(2), at: second(7)) == .ready)
    }

    @Test mutating func whatIsGoneMeanwhileIsForgotten() {
        send()
        files.changed(a, nil, at: second(5))
        #expect(files.isIdle && files.candidates.isEmpty)
    }

    /// The client does not know whether the upload succeeded; sending the unchanged file again repeats the same upload.
    @Test mutating func whatWasNotAnsweredIsNextAgain() {
        send()
        files.returned(a, at: second(5))
        #expect(files.takeBatch(files: 1, bytes: .max) == [a])
    }

    @Test mutating func whatWasNotAnsweredAndIsWrittenRestsFirst() {
        send()
        _ = files.noticed(a, look(2), .begun, at: second(4))
        #expect(files.sending == [a])
        files.returned(a, at: second(5))
        #expect(!files.hasReady && !files.isIdle && files.nextLook == second(7))
        #expect(files.takeDue(second(7), atMost: 1) == [a])
        #expect(files.looked(a, look(3), at: second(7)) == .waits)
        #expect(files.looked(a, look(3), at: second(9)) == .ready)
    }

    @Test mutating func whatWasRefusedIsTriedAgainWithGrowingPauses() {
        send()
        var now = 3.0
        for pause in [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600] {
            #expect(files.failed(a, .quotaExceeded, at: second(now)) == (pause == 30))
            #expect(files.isIdle)
            #expect(files.takeDue(second(now + Double(pause) - 0.1), atMost: 1) == [])
            now += Double(pause)
            #expect(files.takeDue(second(now), atMost: 1) == [a])
            #expect(files.looked(a, look(1), at: second(now)) == .ready)
            #expect(files.takeBatch(files: 1, bytes: .max) == [a])
        }
        #expect(files.failed(a, .forbidden, at: second(now)) == true)
    }

    @Test mutating func whatWasRefusedIsTriedWhenItChanges() {
        send()
        _ = files.failed(a, .quotaExceeded, at: second(3))
        _ = files.noticed(a, look(1), .complete, at: second(4))
        #expect(files.isIdle)
        _ = files.noticed(a, look(2), .complete, at: second(5))
        #expect(!files.isIdle && files.nextLook == second(7))
        #expect(files.takeDue(second(7), atMost: 1) == [a])
        #expect(files.looked(a, look(2), at: second(7)) == .ready)
        // No look is left from the pause after the refusal.
        #expect(files.takeDue(second(100), atMost: 1) == [])
    }

    /// The source was kept because another process had it open. When that process closes it unchanged, the file is
    /// tried again before its pause ends.
    @Test(arguments: [false, true]) mutating func whatWasKeptIsTriedWhenAWriterHasClosedIt(whileSending: Bool) {
        send()
        if whileSending { _ = files.noticed(a, look(1), .complete, at: second(3)) }
        _ = files.failed(a, SettlingFiles.kept, at: second(3))
        #expect(files.isIdle)
        _ = files.noticed(a, look(1), .found, at: second(3))
        #expect(files.isIdle)
        if !whileSending {
            _ = files.noticed(a, look(1), .complete, at: second(3))
            #expect(!files.isIdle)
        }
        #expect(files.takeDue(second(5), atMost: 1) == [a])
        #expect(files.looked(a, look(1), at: second(5)) == .ready)
        #expect(files.takeBatch(files: 1, bytes: .max) == [a])
        // No process has closed the file since, and users are not notified again.
        #expect(files.failed(a, SettlingFiles.kept, at: second(6)) == false)
        #expect(files.takeDue(second(65), atMost: 1) == [])
        #expect(files.takeDue(second(66), atMost: 1) == [a])
    }

    /// The file changed while the server refused it, so the refusal does not apply to the new content.
    @Test mutating func whatHasChangedWhileItWasRefusedIsTriedSoon() {
        send()
        _ = files.noticed(a, look(2), .complete, at: second(3))
        _ = files.failed(a, .quotaExceeded, at: second(4))
        #expect(files.takeDue(second(6), atMost: 1) == [a])
        #expect(files.looked(a, look(2), at: second(6)) == .waits)
        #expect(!files.isIdle)
        #expect(files.looked(a, look(2), at: second(8)) == .ready)
    }

    /// An answer to an upload of a file that was removed and made again does not apply to the new file.
    @Test mutating func answersToWhatIsGoneChangeNothing() {
        send()
        files.vanished(a)
        _ = files.noticed(a, look(7), .complete, at: second(3))
        files.acknowledged(a)
        files.changed(a, look(9), at: second(3))
        files.returned(a, at: second(3))
        #expect(files.failed(a, .quotaExceeded, at: second(3)) == true)
        #expect(files.nextLook == second(5) && files.settledLook(of: a) == look(7))
    }
}
