import Glibc
import Testing
import TransferCatalog
import TransferKeys
import TransferProtocol
import TransferReceipts
import TransferServer
import TransferStore
import TransferSystem
import TransferTestSupport

extension ServerTests {
    /// Signed receipts for clients that ask.
    @Suite struct ReceiptTests {
        @Test func everyAcknowledgementOfABatchHasOne() async throws {
            try await serving { server in
                let (client, key) = try Self.client(of: server)
                let paths = (0..<20).map { "d/\($0)" }
                client.send(paths.flatMap { Frames.upload($0, Array($0.utf8)) })
                let verifier = ReceiptVerifier()
                var numbers: Set<UInt64> = []
                for path in paths {
                    let result = try client.result()
                    let signed = try SignedReceipt(decoding: #require(result.receipt))
                    try verifier.verify(signed)
                    let receipt = signed.receipt
                    numbers.insert(receipt.number)
                    #expect(receipt.server == key && receipt.uploadID == result.id && receipt.path.string == path)
                    #expect(receipt.size == result.size && receipt.digest == Frames.digest(Array(path.utf8)))
                    #expect(receipt.result == result.code && receipt.sender.hasPrefix("127.0.0.1:"))
                }
                #expect(numbers.count == paths.count)
            }
        }

        /// Results wait for others to share their signature, but never for something that has yet to come.
        @Test func noneWaitsForWhatIsNotThere() async throws {
            try await serving { server in
                let (client, _) = try Self.client(of: server)
                let paths = (0..<400).map { "d/\($0)" }
                let content = [UInt8](repeating: 7, count: 2000)
                // More than one receive buffer holds, and then an upload that doesn't end.
                let unfinished = Frames.begin("x", size: 2) + Frames.data([1])
                client.send(paths.flatMap { Frames.upload($0, content) } + unfinished)
                let verifier = ReceiptVerifier()
                var stored: Set<String> = []
                for _ in paths {
                    let signed = try SignedReceipt(decoding: #require(client.result().receipt))
                    try verifier.verify(signed)
                    stored.insert(signed.receipt.path.string)
                }
                #expect(stored == Set(paths))
            }
        }

        @Test func whoDoesNotAskGetsNone() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                client.send(Frames.upload("x", [1]))
                #expect(try client.result().receipt == nil)
            }
        }

        @Test func failuresAndSkipsHaveNone() async throws {
            try await serving { server in
                let (client, _) = try Self.client(of: server)
                client.send(Frames.begin("x", size: 2) + Frames.data([1, 2]) + Frames.end([9]))
                #expect(try client.result().receipt == nil)
                client.send(Frames.upload("../x", [1]))
                #expect(try client.result().receipt == nil)
            }
        }

        @Test func aReplayHasTheSameReceipt() async throws {
            try await serving { server in
                let id = UploadID.random()
                let (first, _) = try Self.client(of: server)
                first.send(Frames.upload("x", [1], id: id))
                let acknowledged = try first.result()
                #expect(acknowledged.receipt != nil)
                let (second, _) = try Self.client(of: server)
                second.send(Frames.upload("x", [1], id: id))
                #expect(try second.result() == acknowledged)
                second.send(Frames.begin("x", size: 1, id: id, expectsAccept: true))
                #expect(try second.result() == acknowledged)
                second.send(.abort)
                let silent = try server.greetedClient()
                silent.send(Frames.upload("x", [1], id: id))
                #expect(try silent.result().receipt == nil)
            }
        }

        /// The first acknowledgement had none.
        @Test func aReplayThatAsksForTheFirstTimeGetsOne() async throws {
            try await serving { server in
                let id = UploadID.random()
                let silent = try server.greetedClient()
                silent.send(Frames.upload("x", [1], id: id))
                #expect(try silent.result().code == .committed)
                let (client, _) = try Self.client(of: server)
                client.send(Frames.upload("x", [1], id: id))
                let result = try client.result()
                #expect(result.code == .committed)
                let signed = try SignedReceipt(decoding: #require(result.receipt))
                try ReceiptVerifier().verify(signed)
                #expect(signed.receipt.result == .committed && server.tree == ["x"])
            }
        }

        @Test func namesThePathThatTheContentIsUnder() async throws {
            try await serving { server in
                let (client, _) = try Self.client(of: server)
                client.send(Frames.upload("x.png", [1]) + Frames.upload("x.png", [2]))
                _ = try client.result()
                let result = try client.result()
                let signed = try SignedReceipt(decoding: #require(result.receipt))
                #expect(result.storedPath == "x-1.png" && signed.receipt.path.string == "x-1.png")
            }
        }

        /// What may not survive a crash gets no receipt, and the server says so before anything is sent.
        @Test func withoutDurabilityThereAreNone() async throws {
            try await serving({ $0.durability = .none }) { server in
                let client = try server.client()
                client.send(Frames.hello(features: .receipts))
                guard case .message(.welcome(let welcome)) = try client.next() else {
                    throw RawClient.Failure(description: "the server did not welcome")
                }
                #expect(welcome.serverKey == nil)
                client.send(Frames.upload("x", [1]))
                #expect(try client.result().receipt == nil)
                #expect(TestServer.read(server.directory.path("store/.transfer/identity.pem")) == nil)
            }
        }

        @Test func theIdentityOutlivesTheServerAndNumbersGrow() async throws {
            let directory = try TemporaryDirectory()
            let seen = Seen()
            for _ in 0..<2 {
                try await serving(in: directory) { server in
                    let (client, key) = try Self.client(of: server)
                    client.send(Frames.upload("x", [1]))
                    let signed = try SignedReceipt(decoding: #require(try client.result().receipt))
                    seen.check(key, signed.receipt.number)
                }
            }
        }

        /// The catalog remembers what the clock has forgotten.
        @Test func aClockThatIsTurnedBackRepeatsNoNumber() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path("store/.transfer/" + Catalog.fileName)
            let seen = Seen()
            // As when the clock had been in the year 2100 (microseconds).
            let later: UInt64 = 4_102_444_800_000_000
            try await serving(in: directory) { _ in }
            try Catalog(path: path, isDurable: true) { _ in }.keep(receiptNumber: later)
            for turn in 0..<3 {
                try await serving(in: directory) { server in
                    let (client, key) = try Self.client(of: server)
                    // A new one each time, and one that has been acknowledged and gets another receipt.
                    client.send(Frames.upload("x", [UInt8(turn)]) + Frames.upload("y", [1]))
                    for _ in 0..<2 {
                        let signed = try SignedReceipt(decoding: #require(try client.result().receipt))
                        #expect(signed.receipt.number >= later)
                        seen.check(key, signed.receipt.number)
                    }
                }
            }
        }

        /// Then there is the clock.
        @Test(arguments: ["lost", "damaged"]) func withoutACatalogNumbersGrow(_ how: String) async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path("store/.transfer/" + Catalog.fileName)
            let seen = Seen()
            for turn in 0..<2 {
                try await serving(in: directory) { server in
                    let (client, key) = try Self.client(of: server)
                    client.send(Frames.upload("x", [1]))
                    let signed = try SignedReceipt(decoding: #require(try client.result().receipt))
                    seen.check(key, signed.receipt.number)
                }
                guard turn == 0 else { continue }
                if how == "lost" { #expect(unlink(path) == 0) } else { #expect(truncate(path, 100) == 0) }
            }
        }

        @Test func aDamagedIdentityStopsTheStart() async throws {
            let directory = try TemporaryDirectory()
            try await serving(in: directory) { _ in }
            truncate(directory.path("store/.transfer/identity.pem"), 50)
            await #expect(throws: (any Error).self) { try await serving(in: directory) { _ in } }
        }

        private static func client(of server: TestServer) throws -> (RawClient, ServerKey) {
            let client = try server.client()
            client.send(Frames.hello(features: .receipts))
            guard case .message(.welcome(let welcome)) = try client.next(),
                let key = welcome.serverKey.flatMap({ ServerKey($0) })
            else { throw RawClient.Failure(description: "the server did not welcome with a key") }
            return (client, key)
        }
    }
}

/// Compares what one server says with what the one before it said.
private final class Seen: Sendable {
    private let last = Locked<(key: ServerKey, number: UInt64)?>(nil)

    func check(_ key: ServerKey, _ number: UInt64) {
        last.withLock { last in
            if let last { #expect(last.key == key && last.number < number) }
            last = (key, number)
        }
    }
}
