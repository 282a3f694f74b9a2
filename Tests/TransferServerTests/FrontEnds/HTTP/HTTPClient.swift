import TransferHTTP
import TransferModel
import TransferProtocol

@testable import TransferServer

/// A client of HTTP that sends whatever it is told to, and reads answers strictly.
final class HTTPClient {
    struct Answer {
        var head: ResponseHead
        var content: [UInt8] = []

        /// Whether all of it came.
        var isWhole = false

        var status: Int { head.status }

        var text: String { String(decoding: content, as: UTF8.self) }

        /// The value of a field that is there once.
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

    /// Sends a request, and its content as one piece.
    func send(
        _ method: HTTPMethod, _ target: String, _ fields: [(String, String)] = [], _ content: [UInt8]? = nil
    ) {
        var text = "\(method.name) \(target) HTTP/1.1\r\nHost: server\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if let content { text += "Content-Length: \(content.count)\r\n" }
        reader.expect(method)
        raw.send(Array((text + "\r\n").utf8) + (content ?? []))
    }

    /// Sends bytes that an answer to a request of this method has to follow.
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

    /// The next head, of answers that come before the final one, too.
    func interim() throws -> ResponseHead {
        while true {
            if case .informational(let head) = try step() { return head }
        }
    }

    /// The head of the next final answer, for those who want to see its content as it comes.
    func head() throws -> ResponseHead {
        while true {
            if case .head(let head, _) = try step() { return head }
        }
    }

    /// Some of the content behind that head; nothing at its end.
    func content() throws -> [UInt8]? {
        while true {
            switch try step() {
            case .content(let range): return content(range)
            case .end: return nil
            case .needsMore, .informational, .head: break
            }
        }
    }

    /// The next final answer; not whole when the connection ended before that.
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

    /// Whether the server says no more.
    func isClosed() throws -> Bool { try received.isEmpty && raw.some() == nil }

    /// What the last step was found in.
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
                // An answer that lasts until then is whole now. Any other one is not, and this throws the second time.
                try reader.closed()
                guard !hasClosed else { throw RawClient.Failure(description: "the server closed") }
                hasClosed = true
            }
        }
    }
}
