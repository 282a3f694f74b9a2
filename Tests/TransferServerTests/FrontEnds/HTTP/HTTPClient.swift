import TransferHTTP
import TransferModel
import TransferProtocol

@testable import TransferServer

/// An HTTP client that sends any bytes that a test wants, and reads answers strictly.
final class HTTPClient {
    struct Answer {
        var head: ResponseHead
        var content: [UInt8] = []

        /// Whether the answer was received completely.
        var isWhole = false

        var status: Int { head.status }

        var text: String { String(decoding: content, as: UTF8.self) }

        /// The value of a field that occurs exactly once.
        subscript(name: String) -> String? { try? head.fields.only(name) }
    }

    let raw: RawClient
    private var reader = ResponseReader()
    private var received: [UInt8] = []

    init(_ raw: RawClient) { self.raw = raw }

    convenience init(_ server: TestServer, isSecured: Bool = false) throws {
        let raw = try server.client()
        if isSecured { try raw.secure(protocols: ["http/1.1"]) }
        self.init(raw)
    }

    /// Sends a request, with its content in one piece.
    func send(
        _ method: HTTPMethod, _ target: String, _ fields: [(String, String)] = [], _ content: [UInt8]? = nil
    ) {
        var text = "\(method.name) \(target) HTTP/1.1\r\nHost: server\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if let content { text += "Content-Length: \(content.count)\r\n" }
        reader.expect(method)
        raw.send(Array((text + "\r\n").utf8) + (content ?? []))
    }

    /// Expects an answer to a further request of the bytes that were sent.
    func expectAnswer(to method: HTTPMethod = .get) { reader.expect(method) }

    /// Sends bytes, and expects an answer to a request with this method.
    func send(bytes: String, for method: HTTPMethod = .get) {
        reader.expect(method)
        raw.send(Array(bytes.utf8))
    }

    func ask(
        _ method: HTTPMethod, _ target: String, _ fields: [(String, String)] = [], _ content: [UInt8]? = nil
    ) throws -> Answer {
        send(method, target, fields, content)
        return try answer()
    }

    /// Reads the next head, which may be that of an interim answer.
    func interim() throws -> ResponseHead {
        while true {
            if case .informational(let head) = try step() { return head }
        }
    }

    /// Reads the head of the next final answer. The caller reads the content in pieces.
    func head() throws -> ResponseHead {
        while true {
            if case .head(let head, _) = try step() { return head }
        }
    }

    /// - Returns: the next piece of the content; nil at its end.
    func content() throws -> [UInt8]? {
        while true {
            switch try step() {
            case .content(let range): return content(range)
            case .end: return nil
            case .needsMore, .informational, .head: break
            }
        }
    }

    /// Reads the next final answer, which is not whole if the connection ends before its end.
    func answer() throws -> Answer {
        var answer: Answer?
        while true {
            let step: ResponseStep
            do {
                step = try self.step()
            } catch {
                guard let answer else { throw error }
                return answer
            }
            switch step {
            case .needsMore, .informational: break
            case .head(let head, _): answer = Answer(head: head)
            case .content(let range): answer?.content += content(range)
            case .end:
                answer?.isWhole = true
                if let answer { return answer }
            }
        }
    }

    /// Whether the server has closed the connection without sending more.
    func isClosed() throws -> Bool { try received.isEmpty && raw.some() == nil }

    /// Bytes in which the last step was found.
    private var last: [UInt8] = []
    private var hasClosed = false

    private func content(_ range: Range<Int>) -> [UInt8] { Array(last[range]) }

    private func step() throws -> ResponseStep {
        while true {
            let (step, consumed) = try received.withUnsafeBytes { bytes in
                Result { () throws(HTTPFault) in try reader.next(bytes) }
            }.get()
            last = received
            received.removeFirst(consumed)
            guard step == .needsMore else { return step }
            if let more = try raw.some() {
                received += more
            } else {
                // An answer that lasts until the end of the connection is whole now. Any other answer is not, and this
                // throws the second time.
                try reader.closed()
                guard !hasClosed else { throw RawClient.Failure(description: "the server closed") }
                hasClosed = true
            }
        }
    }
}
