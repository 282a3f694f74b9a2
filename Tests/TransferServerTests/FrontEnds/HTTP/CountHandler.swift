import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel

@testable import TransferServer

/// An endpoint for tests: `/.transfer/count` answers with the number of bytes in a request, and refuses too many. It
/// consists of this file and a row of the table (`HTTPEndpointTests`).
struct CountHandler: HTTPHandler {
    let context: HTTPContext

    static let row = HTTPRoute(.own("count"), [.get, .post], by: count)

    func count(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        guard context.caller.grant.options.rights.mayWrite else {
            throw HTTPRefusal(403, .forbidden, "Only clients that may send files may count.")
        }
        return request.head.method == .get ? .reply(CountReceiver().answer) : .receive(CountReceiver())
    }
}

private final class CountReceiver: ContentReceiver {
    private var count = 0

    var answer: HTTPReply { HTTPReply(200, [], Array("\(count)\n".utf8), type: "text/plain") }

    func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPRefusal) -> ContentProgress {
        count += bytes.count
        guard count <= 1 << 20 else { throw HTTPRefusal(413, .uploadTooLarge, "That is too much to count.") }
        return .wantsMore()
    }

    func finish(_ trailers: HTTPFields) -> HTTPResponse { .reply(answer) }

    func settled(_ settled: EndedUpload) {}
}
