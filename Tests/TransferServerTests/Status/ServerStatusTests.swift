import Testing
import TransferAccess
import TransferIntake
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

@Suite struct ServerStatusTests {
    private static func status(connections: Int, uploads: Int, path: String = "p") -> ServerStatus {
        ServerStatus(
            agent: "transfer/1", pid: 1, directory: "d", isStopping: false, started: UTCTime(clamping: 0),
            now: UTCTime(clamping: 60), endpoints: ["127.0.0.1:5288"], advertised: nil, isEncrypted: true,
            allowsAnonymous: false,
            connections: (0..<connections).map {
                .init(
                    number: $0, peer: "peer-\($0)", client: nil, isEstablished: $0 % 2 == 0, since: 0, stored: 0,
                    received: 0, sent: 0, rate: Double($0))
            },
            uploads: (0..<uploads).map {
                .init(path: "\(path)\($0)", client: "c", size: 100, received: 40, rate: 10, seconds: Double($0))
            },
            room: nil, quota: nil, minimumFree: nil, figures: .init())
    }

    @Test func aSmallOne() {
        let text = Self.status(connections: 1, uploads: 1).json.text
        #expect(text.hasPrefix(#"{"schema":"transfer.status/2","agent":"transfer/1","pid":1,"directory":"d","#))
        #expect(
            text.contains(
                #""uploads":{"count":1,"rate":10,"list":[{"path":"p0","client":"c","size":100,"received":40,"rate":10,"#
                    + #""seconds":0.0,"connections":1}],"omitted":0}"#), "\(text)")
        #expect(text.contains(#""reserved":60,"#) && text.hasSuffix(#""catalog":null}"#))
    }

    @Test(arguments: [false, true]) func aStoreInDoubt(_ isInDoubt: Bool) {
        var status = Self.status(connections: 0, uploads: 0)
        status.isInDoubt = isInDoubt
        #expect(status.json.text.contains(#","syncFailed":\#(isInDoubt),"#), "\(status.json.text)")
    }

    @Test func aCopiedDirectory() {
        var status = Self.status(connections: 0, uploads: 0)
        #expect(status.json.text.contains(#","adoption":null,"#))
        var progress = Adoption.Progress()
        (progress.compared, progress.adopted, progress.mismatched, progress.unreadable) = (9, 6, 2, 1)
        (progress.bytes, progress.isWaiting) = (7, true)
        status.adoption = progress
        let counts = #""compared":9,"adopted":6,"mismatched":2,"unreadable":1,"bytes":7,"waiting":true}"#
        #expect(status.json.text.contains(#","adoption":{"paths":null,"# + counts), "\(status.json.text)")
        progress.paths = 10
        status.adoption = progress
        #expect(status.json.text.contains(#","adoption":{"paths":10,"# + counts), "\(status.json.text)")
    }

    /// The document stays small, however many connections and uploads there are, and counts those that it omits.
    @Test func thousandsAreLeftOut() {
        let path = String(repeating: "\u{1B}", count: Limits.path)
        let status = Self.status(connections: 5_000, uploads: 3_000, path: path)
        let text = status.json.text
        #expect(text.utf8.count < 6 << 20)
        #expect(text.contains(#""connections":{"count":5000,"pending":2500,"list":[{"number":4999,"#))
        #expect(text.contains(#""omitted":4800}"#) && text.contains(#""omitted":2800}"#))
        #expect(text.contains(#""reserved":180000"#), "all of them, also those that are left out")
    }
}

extension ServerTests {
    /// Status of a server with clients.
    @Suite(.oneServer) struct StatusTests {
        private static let content = SplitMix64.bytes(seed: 7, 3 * Limits.blockSize)

        @Test func anUploadInProgress() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let begin = Begin(id: .random(), path: "a/b", size: 1_000)
                client.send(Frames.encoded(.begin(begin)) + Frames.stored(Array(Self.content[..<400])))
                let core = server.server.core
                try server.waitUntil("the bytes are seen") { core.status().uploads.first?.received == 400 }
                let status = core.status()
                let upload = try #require(status.uploads.first)
                #expect(upload.path == "a/b" && upload.size == 1_000 && upload.connections == 1 && upload.rate > 0)
                #expect(status.reserved == 600 && status.uploads.count == 1)
                let connection = try #require(status.connections.first)
                #expect(connection.isEstablished && connection.received == 400 && connection.stored == 0)
                client.send(Frames.stored(Array(Self.content[400..<1_000])) + Frames.end(Array(Self.content[..<1_000])))
                #expect(try client.result().code == .committed)
                try server.waitUntil("it is over") {
                    core.status().uploads.isEmpty && core.status().connections.first?.stored == 1
                }
                client.endSending()
                try client.waitForClose()
                try server.waitUntil("nobody is left") { core.status().connections.isEmpty }
            }
        }

        /// Verified parts count, and so do the parts that two connections are sending.
        @Test func anUploadInParts() async throws {
            try await serving { server in
                let upload = PartedUpload("big", Self.content)
                let core = server.server.core
                let first = try server.greetedClient()
                first.send(upload.part(0..<Limits.blockSize))
                #expect(try first.result().code == .staged)
                let clients = [first, try server.greetedClient()]
                for (index, client) in clients.enumerated() {
                    let start = (index + 1) * Limits.blockSize
                    let whole = upload.part(start..<start + Limits.blockSize)
                    client.send(Array(whole[..<(whole.count / 2)]))
                }
                let half = UInt64(Limits.blockSize / 2)
                try server.waitUntil("both halves are seen") {
                    let received = core.status().uploads.first?.received ?? 0
                    return received > 2 * half + 2 * (half - 4_096)
                }
                let status = core.status()
                #expect(status.uploads.count == 1 && status.uploads.first?.connections == 2)
                #expect(status.uploads.first?.size == UInt64(Self.content.count) && status.reserved < 2 * half + 8_192)
                for client in clients { client.endSending() }
                for client in clients { try? client.waitForClose() }
                try server.waitUntil("nobody works on it") { core.status().uploads.isEmpty }
            }
        }

        @Test func whatIsFetched() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                let content = Array(Self.content[..<100_000])
                client.send(Frames.begin("a", size: 100_000) + Frames.stored(content) + Frames.end(content))
                #expect(try client.result().code == .committed)
                _ = try client.fetch(FetchRequest(id: 1, path: "a"))
                let connection = try #require(server.server.core.status().connections.first)
                #expect((100_000...101_000).contains(connection.sent) && connection.received == 100_000)
            }
        }

        @Test func whoHasNotIntroducedItself() async throws {
            try await serving { server in
                let client = try server.client()
                let core = server.server.core
                try server.waitUntil("it is seen") { core.status().connections.first?.isEstablished == false }
                client.send(Frames.hello)
                try server.waitUntil("it is known") { core.status().connections.first?.isEstablished == true }
                #expect(core.status().connections.first?.client == nil)
            }
        }
    }
}
