import Testing
import TransferModel

@testable import TransferClient

@Suite struct SourceFailureTests {
    @Test(arguments: [
        (0, "0 seconds"), (119, "119 seconds"), (120, "2 minutes"), (7_199, "119 minutes"), (7_200, "2 hours"),
        (172_799, "47 hours"), (604_800, "7 days"), (UInt32.max, "49710 days"),
    ])
    func saysForHowLongSomethingIsKept(_ seconds: UInt32, _ words: String) {
        let failure = Failure(.cancelled, "Stopped.").keeping(seconds: seconds)
        #expect(failure.code == .cancelled)
        #expect(
            failure.message == "Stopped. The server keeps the part that has arrived for \(words); run the same command "
                + "again to continue from there.")
    }
}
