import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct LimitsTests {
    /// A path is checked after its message was decoded, so a path over the limit must still fit into a frame.
    @Test func controlBodyHoldsTheLongestMessages() throws {
        let begin = Begin(
            id: Sample.id, path: String(repeating: "p", count: Limits.path + 1), size: .max, expectsAccept: true,
            modified: .init(seconds: 0, nanoseconds: 0), permissions: 0o777)
        #expect(Message.begin(begin).checkedBody.count <= Limits.controlBody)
        let text = String(repeating: "t", count: 2 * Limits.text)
        #expect(Message.welcome(Welcome(agent: text, serverName: text)).body.count <= Limits.controlBody)
    }

    @Test func controlFramesUseTheShortLength() {
        #expect(Limits.controlBody < Int(FrameHeader.extendedMarker))
    }

    @Test func wholeFramesMakeABlock() {
        #expect(Limits.blockSize % Limits.dataBody == 0)
    }

    @Test func offsetsOfEveryUploadFitInASignedNumber() {
        #expect(Int64(exactly: Limits.uploadSize) == .max)
    }
}
