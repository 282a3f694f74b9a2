import Glibc
import Synchronization
import Testing
import TransferConnection
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Lookups of many uploads at once.
    @Suite(.overEachStoreIfAsked) struct LookupTests {
        private static let known = (1...5 as ClosedRange<UInt64>).map { UploadID(high: 1, low: $0) }
        private static let stranger = UploadID(high: 2, low: 1)

        /// Stores a file for each ID, `d/1` to `d/5`.
        private static func fill(_ server: TestServer, run: UInt64? = nil) throws {
            let client = try server.greetedClient(run: run)
            let frames = known.flatMap { Frames.upload("d/\($0.low)", [UInt8($0.low)], id: $0) }
            #expect(try client.codes(known.count, to: frames) == Array(repeating: .committed, count: known.count))
        }

        @Test func everyIdHasOneAnswer() async throws {
            try await serving { server in
                try Self.fill(server)
                let client = try server.greetedClient()
                let answers = try client.lookUp(Self.known + [Self.stranger])
                #expect(Set(answers.known.map(\.id)) == Set(Self.known) && answers.unknown == [Self.stranger])
                for result in answers.known {
                    let content = [UInt8(result.id.low)]
                    #expect(result.storedPath == "d/\(result.id.low)" && result.kind == .file)
                    #expect(result.size == 1 && result.isDurable && result.digest == Frames.digest(content))
                }
                // All lookups are answered, so the client may begin all uploads.
                let frames = Frames.upload("new", [1], id: Self.stranger) + Frames.upload("d/1", [1], id: Self.known[0])
                #expect(try client.codes(2, to: frames) == [.committed, .committed])
            }
        }

        /// If a client takes no answers, the server makes only the answers of one turn and those of one lookup step,
        /// however long their paths are.
        @Test func longAnswersAreMadeInTurns() async throws {
            let folder = Array(repeating: String(repeating: "a", count: 250), count: 15).joined(separator: "/")
            let ids = (1...128 as ClosedRange<UInt64>).map { UploadID(high: 3, low: $0) }
            try await serving { server in
                let frames = ids.flatMap { Frames.upload("\(folder)/\($0.low)", [UInt8($0.low)], id: $0) }
                let codes = try server.greetedClient().codes(ids.count, to: frames)
                #expect(codes == Array(repeating: .committed, count: ids.count))
                let early = EarlyAnswers()
                let uploads = ConnectionUploads(
                    WorkerResources(server.server.core), connection: 1 << 20, peer: "test",
                    progress: ConnectionProgress(1 << 20, peer: "test"))
                let worker = UploadWorker(BinarySteps(uploads, early))
                let batch = BinaryBatch(try #require(BufferPool(size: 1 << 16, count: 1).takeNow()), carry: [])
                batch.operations = [.lookup(Lookup(ids, digest: .xxh128))]
                var (settled, turns) = ([UploadID](), 0)
                var outcome = worker.process([batch])
                while true {
                    let answers = early.take()
                    #expect(answers.frames.count < BinarySteps.mostMade + IntakeSession.lookedUpAtOnce * 4096)
                    settled += answers.settled
                    turns += 1
                    guard outcome.left == .work, turns < ids.count else { break }
                    outcome = worker.process([])
                }
                #expect(settled == ids && turns > 1)
                worker.cancel()
                #expect(try server.greetedClient().lookUp(ids).known.map(\.id) == ids)
            }
        }

        /// The answers waiting for a client that reads nothing are bounded, and the server gives the client up like any
        /// silent client.
        @Test func whoTakesNoAnswersIsGivenUp() async throws {
            let folder = Array(repeating: String(repeating: "a", count: 250), count: 15).joined(separator: "/")
            let ids = (1...UInt64(Limits.unacknowledgedUploads)).map { UploadID(high: 3, low: $0) }
            let directory = try TemporaryDirectory()
            // This server waits as long as it needs for the sender, which is slow on a busy machine.
            try await serving(in: directory) { server in
                let sender = try server.greetedClient()
                for some in stride(from: 0, to: ids.count, by: 512).map({ ids[$0..<$0 + 512] }) {
                    let frames = some.flatMap { Frames.upload("\(folder)/\($0.low)", [], id: $0) }
                    #expect(try sender.codes(some.count, to: frames).allSatisfy { $0 == .committed })
                }
            }
            try await serving({ $0.timeouts.idle = .milliseconds(500) }, in: directory) { server in
                let client = try server.greetedClient()
                for start in stride(from: 0, to: ids.count, by: Limits.lookup) {
                    client.send(.lookup(Lookup(Array(ids[start..<start + Limits.lookup]), digest: .xxh128)))
                }
                let unsent = { server.server.core.transport.unsent.load(ordering: .relaxed) }
                var most = 0
                try server.waitUntil("the client is given up") {
                    most = max(most, unsent())
                    return most > 0 && unsent() == 0
                }
                #expect(most < 3 * BinarySteps.mostMade)
            }
        }

        @Test func aServerThatWasStartedAnewKnowsThem() async throws {
            let directory = try TemporaryDirectory()
            try await serving(in: directory) { try Self.fill($0, run: 7) }
            try await serving(in: directory) { server in
                let same = try server.greetedClient(run: 7).lookUp(Self.known)
                #expect(same.known.map(\.code) == Array(repeating: .committed, count: 5))
                let other = try server.greetedClient(run: 8).lookUp(Self.known)
                #expect(other.known.map(\.code) == Array(repeating: .alreadyStored, count: 5))
            }
        }

        /// The server reads no file for a lookup, so a touched file is unknown until a client sends it.
        @Test(.directoryOnly) func onlyWhatIsUntouchedIsKnown() async throws {
            try await serving { server in
                try Self.fill(server)
                func path(_ number: Int) -> String { server.directory.path("store/d/\(number)") }
                unlink(path(1))
                truncate(path(2), 0)
                utimes(path(3), nil)
                unlink(path(4))
                symlink("5", path(4))
                let client = try server.greetedClient()
                let answers = try client.lookUp(Self.known)
                #expect(answers.known.map(\.id) == [Self.known[4]] && answers.unknown == Array(Self.known[..<4]))
                #expect(try client.codes(to: Frames.upload("d/3", [3], id: Self.known[2])) == [.alreadyStored])
                #expect(try client.lookUp([Self.known[2]]).unknown.isEmpty)
            }
        }

        @Test func anotherDigestFunctionIsAnotherUpload() async throws {
            try await serving { server in
                try Self.fill(server)
                let answers = try server.greetedClient().lookUp(Self.known, .sha256)
                #expect(answers.known.isEmpty && answers.unknown == Self.known)
            }
        }

        @Test func partsAndFailuresAreNotKnown() async throws {
            try await serving { server in
                let content = [UInt8](repeating: 1, count: Limits.blockSize + 1)
                let upload = PartedUpload("big", content)
                let client = try server.greetedClient()
                #expect(try client.codes(to: upload.inOnePart) == [.staged])
                #expect(try client.codes(to: Frames.upload("../x", [1], id: Self.stranger)) == [.invalidPath])
                #expect(try client.lookUp([upload.id, Self.stranger]).known.isEmpty)
                #expect(try client.codes(to: upload.multipart) == [.committed])
                #expect(try client.lookUp([upload.id]).known.map(\.storedPath) == ["big"])
            }
        }

        /// One signature covers the receipts of all answers.
        @Test(arguments: [true, false]) func everyAnswerHasItsReceipt(hadReceipts: Bool) async throws {
            try await serving { server in
                if !hadReceipts { try Self.fill(server) }
                let (client, key) = try ReceiptTests.client(of: server)
                if hadReceipts {
                    let frames = Self.known.flatMap { Frames.upload("d/\($0.low)", [UInt8($0.low)], id: $0) }
                    client.send(frames)
                    let receipted = try client.receipted(5, by: key) { "d/\($0.low)" }
                    #expect(receipted.allSatisfy { $0.result.code == .committed })
                }
                let answers = try client.lookUp(Self.known + [Self.stranger])
                #expect(answers.known.count == 5)
                var signatures: Set<[UInt8]> = []
                for result in answers.known {
                    let signed = try SignedReceipt(decoding: #require(result.receipt))
                    try ReceiptVerifier().verify(signed)
                    #expect(signed.receipt.uploadID == result.id && signed.receipt.path.string == result.storedPath)
                    #expect(signed.receipt.digest == result.digest && signed.receipt.size == result.size)
                    signatures.insert(signed.signature)
                }
                #expect(signatures.count == 1)
            }
        }

        @Test func whoDoesNotAskGetsNoReceipt() async throws {
            try await serving { server in
                try Self.fill(server)
                #expect(try server.greetedClient().lookUp(Self.known).known.allSatisfy { $0.receipt == nil })
            }
        }

        /// A stopping server does not look uploads up. It answers that they are unknown, so no client waits.
        @Test func aServerThatStopsKnowsNothing() async throws {
            try await serving { server in
                try Self.fill(server)
                let client = try server.greetedClient()
                client.send(Frames.begin("open", size: nil, expectsAccept: true))
                try client.expectAccept()
                server.beginShutDown()
                server.waitUntilClosed()
                client.send(Frames.data([1]) + Frames.end([1]))
                client.send(.lookup(Lookup(Self.known, digest: .xxh128)))
                var hasResult = false
                while case .message(let message) = try client.next() {
                    switch message {
                    case .unknown(let ids): #expect(ids == Self.known)
                    case .result(let result): hasResult = result.code == .committed
                    case .goodbye, .received, .ping: break
                    default: Issue.record("\(message)")
                    }
                }
                #expect(hasResult)
            }
        }

        @Test func theWindowBoundsQuestions() async throws {
            try await serving { server in
                let client = try server.greetedClient()
                client.send(Frames.begin("open", size: nil))
                client.send(Frames.encoded(.abort))
                #expect(try client.result().code == .aborted)
                let ids = (0..<Limits.unacknowledgedUploads).map { UploadID(high: 9, low: UInt64($0)) }
                for start in stride(from: 0, to: ids.count, by: Limits.lookup) {
                    client.send(.lookup(Lookup(Array(ids[start..<start + Limits.lookup]), digest: .xxh128)))
                }
                var unknown: Set<UploadID> = []
                while unknown.count < ids.count {
                    guard case .unknown(let some) = try client.answer() else { break }
                    unknown.formUnion(some)
                }
                #expect(unknown == Set(ids))
                try server.checkServes()
            }
        }

        @Test(arguments: [
            Frames.encoded(.lookup(Lookup([stranger, stranger], digest: .xxh128))),
            Frames.begin("open", size: nil) + Frames.encoded(.lookup(Lookup([stranger], digest: .xxh128))),
            Frames.encoded(.unknown([stranger])),
        ]) func whatIsNotAllowedEndsTheConnection(_ frames: [UInt8]) async throws {
            try await serving { server in
                let client = try server.greetedClient()
                client.send(frames)
                var last: UploadResult?
                while case .message(let message) = try client.next() {
                    if case .result(let result) = message { last = result }
                }
                #expect(last?.id == UploadID.none && last?.code == .unexpectedFrame)
                try server.checkServes()
            }
        }
    }
}

extension RawClient {
    /// Asks for uploads, and waits for the answers to all of them.
    func lookUp(
        _ ids: [UploadID], _ function: DigestFunction = .xxh128
    ) throws -> (known: [UploadResult], unknown: [UploadID]) {
        send(.lookup(Lookup(ids, digest: function)))
        var (known, unknown): ([UploadResult], [UploadID]) = ([], [])
        while known.count + unknown.count < ids.count {
            switch try answer() {
            case .result(let result): known.append(result)
            case .unknown(let some): unknown += some
            case let other: throw Failure(description: "\(other) instead of an answer")
            }
        }
        return (known, unknown)
    }
}
