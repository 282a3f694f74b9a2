import Testing
import TransferClient

@testable import TransferCLI

@Suite struct StoppedWorkTests {
    private let command = RepeatedCommand(["transfer", "sync", "a b"])

    @Test(arguments: [
        (0, 0, "Nothing is here"), (1, 0, "1 file (7 B) is here"), (2, 0, "2 files (7 B) are here"),
        (0, 1, "1 change is done"), (0, 3, "3 changes are done"),
        (1, 1, "1 file (7 B) is here, and 1 other change is done"),
        (2, 2, "2 files (7 B) are here, and 2 other changes are done"),
    ])
    func saysWhatItHasComeTo(_ files: Int, _ others: Int, _ words: String) {
        var work = StoppedWork("sync")
        (work.files, work.others, work.bytes) = (files, others, 7)
        #expect(work.line(repeating: command) == "The sync was stopped. \(words); to go on: transfer sync 'a b'")
        work.canGoOn = false
        #expect(work.line(rest: ", so far", repeating: command) == "The sync was stopped. \(words), so far.")
        work.isPreview = true
        #expect(work.line("Stopped.", repeating: command) == "Stopped. Nothing was changed.")
    }

    /// A command with a secret in it is not shown.
    @Test func otherNounsAndNoCommand() {
        var work = StoppedWork("receive")
        (work.nouns, work.files, work.bytes) = (("delivery", "deliveries"), 2, 2000)
        let line = work.line(repeating: RepeatedCommand(["transfer", "receive", "--to", "transfer://nas/c0de"]))
        #expect(line == "The receive was stopped. 2 deliveries (2.0 KB) are here; the same command goes on from there.")
    }

    /// The words do not depend on the part of the program that reported the stop.
    @Test func aFailureGetsItsWords() {
        let work = StoppedWork("sync")
        let stopped = TransferFailure(reason: .cancelled, message: "The push was stopped.")
        #expect(work.named(stopped).message == "The sync was stopped.")
        let other = TransferFailure(reason: .refused, message: "No.")
        #expect(work.named(other) == other)
    }
}
