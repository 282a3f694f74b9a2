import Testing
import TransferHTTP
import TransferModel
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Requests that no client should send. Each gets its status and a problem document, and harms no other client.
    @Suite(.oneServer) struct HTTPAttackTests {
        private typealias Fields = [(String, String)]

        private static let version: Fields = [("Tus-Resumable", "1.0.0")]
        private static let type: Fields = [("Content-Type", "application/offset+octet-stream")]

        private static func create(_ client: HTTPClient, _ fields: Fields) throws -> HTTPClient.Answer {
            let name = [("Upload-Metadata", "filename \(Base64Text.encode(Array("x".utf8)))")]
            return try client.ask(.post, "/.transfer/tus/", version + name + fields)
        }

        private static func piece(_ offset: Int) -> Fields { version + type + [("Upload-Offset", "\(offset)")] }

        private static func isProblem(_ answer: HTTPClient.Answer, _ status: Int) -> Bool {
            answer.status == status && answer["content-type"] == "application/problem+json"
                && answer.text.contains("\"status\":\(status)")
        }

        // MARK: Heads

        @Test(arguments: [
            (String(repeating: "x: y\r\n", count: 10_000), 431),
            ("x: \(String(repeating: "y", count: 100_000))\r\n", 431),
        ]) func headsHaveBounds(_ fields: String, _ status: Int) async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                client.send(bytes: "GET / HTTP/1.1\r\nHost: server\r\n\(fields)\r\n")
                #expect(Self.isProblem(try client.answer(), status))
                try server.checkServes()
            }
        }

        @Test func targetsHaveBounds() async throws {
            try await servingHTTP { server in
                let client = try HTTPClient(server)
                client.send(bytes: "GET /\(String(repeating: "x", count: 100_000)) HTTP/1.1\r\nHost: server\r\n\r\n")
                #expect(Self.isProblem(try client.answer(), 414))
                try server.checkServes()
            }
        }

        // MARK: Uploads with two clients

        /// An upload that is removed while a client appends to it is gone, and none of it becomes visible.
        @Test func removedWhileItGrows() async throws {
            try await servingHTTP { server in
                let (sender, other) = (try HTTPClient(server), try HTTPClient(server))
                let address = try #require(try Self.create(other, [("Upload-Length", "9")])["location"])
                sender.send(.patch, address, Self.piece(0) + [("Content-Length", "9")])
                sender.raw.send([1, 2, 3])
                #expect(try other.ask(.head, address, Self.version).status == 200)
                #expect(try other.ask(.delete, address, Self.version).status == 204)
                #expect(Self.isProblem(try other.ask(.patch, address, Self.piece(0), [1]), 404))
                #expect(try other.ask(.head, address, Self.version).status == 404)
                #expect(server.tree == [] && server.parts == [])
                try server.checkServes()
            }
        }

        /// If two clients append at the same time, the newest request gets the upload, and the offset that the client
        /// receives is correct.
        @Test func twoThatAddAtOnce() async throws {
            try await servingHTTP { server in
                let (first, second) = (try HTTPClient(server), try HTTPClient(server))
                let address = try #require(try Self.create(first, [("Upload-Length", "6")])["location"])
                first.send(.patch, address, Self.piece(0) + [("Content-Length", "6")])
                first.raw.send([1, 2, 3])
                let told = Int(try second.ask(.head, address, Self.version)["upload-offset"] ?? "") ?? -1
                #expect((0...3).contains(told))
                let content: [UInt8] = [1, 2, 3, 4, 5, 6]
                let answer = try second.ask(.patch, address, Self.piece(told), Array(content[max(told, 0)...]))
                #expect(
                    answer.status == 204 && answer["upload-offset"] == "6", "\(told): \(answer.status) \(answer.text)")
                #expect(server.content("x") == content && server.tree.count == 1)
                try server.checkServes()
            }
        }

        @Test(arguments: ["9223372036854775808", "18446744073709551616", "-1", "1e3", " ", "0x10"])
        func lengthsThatAreNone(_ length: String) async throws {
            try await servingHTTP { server in
                #expect(Self.isProblem(try Self.create(try HTTPClient(server), [("Upload-Length", length)]), 400))
                #expect(server.parts == [])
                try server.checkServes()
            }
        }

        @Test func thereIsNoRoom() async throws {
            try await servingHTTP({ $0.space.quota = 1000 }) { server in
                let client = try HTTPClient(server)
                #expect(Self.isProblem(try Self.create(client, [("Upload-Length", "1001")]), 507))
                #expect(server.parts == [])
                #expect(server.tree == [])
                try server.checkServes()
            }
        }
    }
}
