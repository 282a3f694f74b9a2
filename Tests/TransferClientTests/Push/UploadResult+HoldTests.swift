import Testing
import TransferModel
import TransferProtocol

@testable import TransferClient

@Suite struct UploadResultHoldTests {
    /// A pause of a month is a mistake of the server, and a client that obeyed would look dead.
    @Test(
        arguments: [(1, 1), (29_999, 29_999), (30_000, 30_000), (30_001, 30_000), (.max, 30_000)] as [(UInt32, Int64)])
    func whatTheServerSaysHasACap(said: UInt32, milliseconds: Int64) {
        for code in [ResultCode.busy, .storageFailed, .digestMismatch] {
            let result = UploadResult(id: .random(), code: code, retryAfter: said)
            for attempt in [1, 5, .max] { #expect(result.hold(attempt: attempt) == .milliseconds(milliseconds)) }
        }
    }

    @Test func aBusyServerThatSaysNothingIsAskedLessAndLess() {
        let result = UploadResult(id: .random(), code: .busy)
        let holds = (1...10).map { result.hold(attempt: $0) }
        #expect(holds == [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 25_600].map { .milliseconds($0) })
    }

    @Test func nothingElseIsWaitedFor() {
        #expect(UploadResult(id: .random(), code: .digestMismatch).hold(attempt: 3) == nil)
        #expect(UploadResult(id: .random(), code: .busy, retryAfter: 0).hold(attempt: 3) == nil)
    }
}
