import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct OpenRequestsTests {
    /// An answered request makes room for another one, so a client can send requests without end.
    @Test func whatIsAnsweredMakesRoom() throws {
        var requests = OpenRequests()
        let path = String(repeating: "a", count: 255)
        for id in 0..<UInt32(2 * Limits.requests) {
            try requests.add(.list(ListRequest(id: id, path: path)))
            requests.answered(id)
            // A second call changes nothing.
            requests.answered(id)
        }
        #expect(requests.isEmpty)
    }
}
