import Testing
import TransferModel

@testable import TransferCLI
@testable import TransferClient

@Suite struct WatchTallyTests {
    private var tally = WatchTally()

    private func report(_ source: String, _ result: ResultCode) -> UploadReport {
        UploadReport(source: source, uploadID: .none, result: result, kind: .file, size: 5)
    }

    @Test mutating func countsApart() {
        #expect(tally.isEmpty && tally.summary == "0 stored, 0 B")
        tally.add(report("a", .committed), .left)
        tally.add(report("b", .alreadyStored), .left)
        tally.add(report("c", .skipped), .left)
        tally.add(report("d", .forbidden), .left)
        tally.add(held: "e")
        #expect(tally.summary == "1 stored, 5 B, 1 there already, 1 skipped, 2 not sent")
        #expect(tally.hasFailures && tally.work.files == 2 && tally.work.bytes == 10)
    }

    /// A file that is tried repeatedly counts once, and not as failed if it is finally sent.
    @Test mutating func whatIsTriedAgain() {
        for _ in 0..<3 { tally.add(report("a", .busy), .left) }
        #expect(tally.summary == "0 stored, 0 B, 1 not sent")
        tally.add(report("a", .committed), .kept("Somebody writes."))
        #expect(tally.hasFailures && tally.summary == "1 stored, 5 B, 1 not removed here")
        tally.add(report("a", .alreadyStored), .removed)
        #expect(!tally.hasFailures && tally.summary == "1 stored, 5 B, 1 removed here")
        tally.add(report("b", .alreadyStored), .moved(to: "done/b"))
        #expect(tally.summary == "1 stored, 5 B, 1 there already, 1 removed here, 1 moved here")
    }
}
