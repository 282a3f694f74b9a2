import Glibc
import Testing
import TransferCatalog
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferServer
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

extension ServerTests {
    /// Signed receipts for clients that ask for them.
    @Suite(.overEachStore) struct ReceiptTests {
        @Test func everyAcknowledgementOfABatchHasOne() async throws {
            try await serving { server in
                let (client, key) = try Self.client(of: server)
                let ids = (0..<20).map { UploadID(high: 3, low: $0) }
                client.send(ids.flatMap { Frames.upload("d/\($0.low)", [UInt8($0.low)], id: $0) })
                let receipted = try client.receipted(20, by: key) { "d/\($0.low)" }
                #expect(receipted.map(\.result.id) == ids)
                for (id, (result, receipt)) in zip(ids, receipted.map { ($0.result, $0.signed.receipt) }) {
                    #expect(receipt.server == key && receipt.uploadID == id && receipt.path.string == "d/\(id.low)")
                    #expect(receipt.size == 1 && receipt.digest == Frames.digest([UInt8(id.low)]))
                    #expect(receipt.result == result.code && receipt.sender.hasPrefix("127.0.0.1:"))
                    #expect(result.receipt == nil)
                }
                #expect(Set(receipted.map(\.signed.receipt.number)).count == ids.count)
            }
        }

        /// Results wait for other results to share a signature, but never for an upload that is not complete.
        @Test func noneWaitsForWhatIsNotThere() async throws {
            try await serving { server in
                let (client, key) = try Self.client(of: server)
                let ids = (0..<400).map { UploadID(high: 3, low: $0) }
                let content = [UInt8](repeating: 7, count: 2000)
                // The uploads are more than a receive buffer holds, and an upload without end follows them.
                let unfinished = Frames.begin("x", size: 2) + Frames.data([1])
                client.send(ids.flatMap { Frames.upload("d/\($0.low)", content, id: $0) } + unfinished)
                let stored = try client.receipted(ids.count, by: key) { "d/\($0.low)" }
                #expect(stored.map(\.result.id) == ids)
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
                client.send(.ping(7))
                #expect(try client.nextMessage() == .pong(7))
            }
        }

        /// Results without receipt take no place in a batch of receipts.
        @Test func failuresBetweenAcknowledgementsAreLeftOut() async throws {
            try await serving { server in
                let (client, key) = try Self.client(of: server)
                let ids = (0..<3).map { UploadID(high: 3, low: $0) }
                client.send(
                    Frames.upload("0", [1], id: ids[0]) + Frames.upload("0", [2], id: ids[1], conflict: .skip)
                        + Frames.upload("2", [3], id: ids[2]))
                let receipted = try client.receipted(2, by: key) { "\($0.low)" }
                #expect(receipted.map(\.result.id) == [ids[0], ids[2]])
                #expect(receipted.map(\.result.code) == [.committed, .committed])
            }
        }

        /// The repeated acknowledgement has the original receipt.
        @Test(arguments: [false, true]) func aReplayHasItsReceipt(expectsAccept: Bool) async throws {
            try await serving { server in
                let id = UploadID.random()
                let (first, key) = try Self.client(of: server)
                first.send(Frames.upload("x", [1], id: id))
                let acknowledged = try #require(first.receipted(by: key) { _ in "x" }.first)
                let (second, _) = try Self.client(of: server)
                if expectsAccept {
                    second.send(Frames.begin("x", size: 1, id: id, expectsAccept: true))
                } else {
                    second.send(Frames.upload("x", [1], id: id))
                }
                var again = try second.result()
                #expect(again.receipt == acknowledged.signed.encoded)
                again.receipt = nil
                #expect(again == acknowledged.result)
                let silent = try server.greetedClient()
                silent.send(Frames.upload("x", [1], id: id))
                #expect(try silent.result().receipt == nil)
            }
        }

        /// Receipts are kept for each upload of a batch, and a restarted server returns them.
        @Test func receiptsOutliveTheServer() async throws {
            let directory = try TemporaryDirectory()
            let ids = (0..<40).map { UploadID(high: 4, low: $0) }
            let uploads = ids.map { Frames.upload("\($0.low)", [UInt8($0.low)], id: $0) }
            let given = Locked([[UInt8]]())
            try await serving(in: directory) { server in
                let (client, key) = try Self.client(of: server)
                client.send(uploads.flatMap(\.self))
                let receipts = try client.receipted(ids.count, by: key) { "\($0.low)" }.map(\.signed.encoded)
                given.withLock { $0 = receipts }
            }
            try await serving(in: directory) { server in
                let (client, _) = try Self.client(of: server)
                for (upload, receipt) in zip(uploads, given.withLock { $0 }) {
                    client.send(upload)
                    #expect(try client.result().receipt == receipt)
                }
            }
        }

        /// A signature covers the whole batch, so if an upload of the batch is gone, the others get new receipts.
        @Test(.directoryOnly) func anUploadThatIsNoMoreWhatItWas() async throws {
            try await serving { server in
                let ids = (0..<3).map { UploadID(high: 5, low: $0) }
                let (client, key) = try Self.client(of: server)
                client.send(ids.flatMap { Frames.upload("\($0.low)", [7], id: $0) })
                let old = try client.receipted(3, by: key) { "\($0.low)" }.map(\.signed.receipt)
                #expect(unlink(server.directory.path("store/1")) == 0)
                client.send(Frames.upload("1", [7], id: ids[1]))
                let second = try client.receipted(1, by: key) { "\($0.low)" }[0].signed.receipt
                #expect(second.number > old[1].number && second.result == .committed)
                client.send(Frames.upload("2", [7], id: ids[2]))
                let third = try client.receipted(1, by: key) { _ in "2" }[0].signed.receipt
                #expect(third.number > second.number && third.path == old[2].path && third.digest == old[2].digest)
            }
        }

        /// Another push gets a new receipt, which says that the content was already stored.
        @Test func anotherPushGetsAReceiptOfItsOwn() async throws {
            try await serving { server in
                let id = UploadID.random()
                let (first, key) = try Self.client(of: server)
                first.send(Frames.upload("x", [1], id: id))
                let old = try #require(first.receipted(by: key) { _ in "x" }.first).signed.receipt
                let (second, _) = try Self.client(of: server, run: 7)
                second.send(Frames.upload("x", [1], id: id))
                let new = try #require(second.receipted(by: key) { _ in "x" }.first).signed.receipt
                #expect(new.number > old.number && new.uploadID == id && new.path == old.path && new.kind == old.kind)
                #expect(new.digest == old.digest && new.size == old.size)
                #expect(old.result == .committed && new.result == .alreadyStored)
            }
        }

        /// The first acknowledgement had no receipt.
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
                let (client, key) = try Self.client(of: server)
                client.send(Frames.upload("x.png", [1]) + Frames.upload("x.png", [2]))
                let receipted = try client.receipted(2, by: key) { _ in "x.png" }
                #expect(receipted.map(\.result.storedPath) == [nil, "x-1.png"])
                #expect(receipted.map(\.signed.receipt.path.string) == ["x.png", "x-1.png"])
            }
        }

        /// Uploads that may not survive a crash get no receipts, and the server says so before the client sends
        /// anything.
        @Test(.directoryOnly) func withoutDurabilityThereAreNone() async throws {
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
                    let receipted = try #require(client.receipted(by: key) { _ in "x" }.first)
                    seen.check(key, receipted.signed.receipt.number)
                }
            }
        }

        /// The catalog keeps the last receipt number when the clock is set back.
        @Test(.directoryOnly) func aClockThatIsTurnedBackRepeatsNoNumber() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.path("store/.transfer/" + Catalog.fileName)
            let seen = Seen()
            // Receipt number of a clock in the year 2100 (microseconds).
            let later: UInt64 = 4_102_444_800_000_000
            try await serving(in: directory) { _ in }
            try Catalog(path: path, isDurable: true) { _ in }.keep(receiptNumber: later)
            for turn in 0..<3 {
                try await serving(in: directory) { server in
                    let (client, key) = try Self.client(of: server)
                    // A new upload each time, and an acknowledged one that gets another receipt.
                    let ids = [UploadID.random(), UploadID.random()]
                    client.send(
                        Frames.upload("x", [UInt8(turn)], id: ids[0]) + Frames.upload("y", [1], id: ids[1]))
                    for receipted in try client.receipted(2, by: key, path: { $0 == ids[0] ? "x" : "y" }) {
                        #expect(receipted.signed.receipt.number >= later)
                        seen.check(key, receipted.signed.receipt.number)
                    }
                }
            }
        }

        /// Without a catalog, numbers grow with the clock.
        @Test(.directoryOnly, arguments: ["lost", "damaged"]) func withoutACatalogNumbersGrow(_ how: String)
            async throws
        {
            let directory = try TemporaryDirectory()
            let path = directory.path("store/.transfer/" + Catalog.fileName)
            let seen = Seen()
            for turn in 0..<2 {
                try await serving(in: directory) { server in
                    let (client, key) = try Self.client(of: server)
                    client.send(Frames.upload("x", [1]))
                    let receipted = try #require(client.receipted(by: key) { _ in "x" }.first)
                    seen.check(key, receipted.signed.receipt.number)
                }
                guard turn == 0 else { continue }
                if how == "lost" { #expect(unlink(path) == 0) } else { #expect(truncate(path, 100) == 0) }
            }
        }

        @Test(.directoryOnly) func aDamagedIdentityStopsTheStart() async throws {
            let directory = try TemporaryDirectory()
            try await serving(in: directory) { _ in }
            truncate(directory.path("store/.transfer/identity.pem"), 50)
            await #expect(throws: (any Error).self) { try await serving(in: directory) { _ in } }
        }

        static func client(of server: TestServer, run: UInt64? = nil) throws -> (RawClient, ServerKey) {
            let client = try server.client()
            client.send(Frames.hello(features: .receipts, run: run))
            guard case .message(.welcome(let welcome)) = try client.next(),
                let key = welcome.serverKey.flatMap({ ServerKey($0) })
            else { throw RawClient.Failure(description: "the server did not welcome with a key") }
            return (client, key)
        }
    }
}

/// Compares the key and the receipt numbers of a server with those of the previous one.
private final class Seen: Sendable {
    private let last = Locked<(key: ServerKey, number: UInt64)?>(nil)

    func check(_ key: ServerKey, _ number: UInt64) {
        last.withLock { last in
            if let last { #expect(last.key == key && last.number < number) }
            last = (key, number)
        }
    }
}
