import TransferIO
import TransferModel

@testable import TransferServer

/// A client that speaks jsonline and has a name.
struct ChatClient {
    /// A message that the client has received.
    struct Message: Equatable {
        var type: String
        var source: String
        var body: [UInt8]

        static func txt(_ source: String, _ text: String) -> Message {
            Message(type: "txt", source: source, body: Array(text.utf8))
        }
    }

    let raw: RawClient
    let name: String

    /// Connects and sends a heartbeat with the name.
    init(_ endpoint: Endpoint, _ name: String) throws {
        (raw, self.name) = (try RawClient(endpoint), name)
        beat()
    }

    func beat() { raw.send(Self.heartbeat(name)) }

    func say(_ type: String = "txt", to target: String, _ body: [UInt8]) {
        raw.send(Self.message(type, from: name, to: target, body))
    }

    func say(to target: String, _ text: String) { say(to: target, Array(text.utf8)) }

    /// Reads the next message from the server.
    func next() throws -> Message {
        var head: [UInt8] = []
        while !head.suffix(2).elementsEqual([13, 10]) {
            let byte = try raw.bytes(1)
            guard !byte.isEmpty else { throw RawClient.Failure(description: "the server closed behind \(head)") }
            head += byte
        }
        let object = try JSONReader.read(head.dropLast(2))
        guard case .string(let type)? = object["type"], case .string(let source)? = object["sourceClient"],
            case .string(let digits)? = object["size"], let size = Int(digits)
        else { throw RawClient.Failure(description: "no head: \(object)") }
        let body = try raw.bytes(size)
        guard body.count == size else { throw RawClient.Failure(description: "\(body.count) bytes of \(size)") }
        return Message(type: type, source: source, body: body)
    }

    /// Whether the server has closed the connection without sending anything before.
    func isClosed() throws -> Bool { try raw.bytes(1).isEmpty }

    static func heartbeat(_ name: String) -> [UInt8] { message("heartA", from: name, to: "", []) }

    static func message(_ type: String, from name: String, to target: String, _ body: [UInt8]) -> [UInt8] {
        let head =
            "{\n  \"type\" : \"\(type)\",\n  \"CinentID\" : \"\(name)\",\n  \"targetID\" : \"\(target)\",\n  "
            + "\"size\" : \"\(body.count)\"\n}\r\n"
        return Array(head.utf8) + body
    }
}
