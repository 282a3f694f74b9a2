import Synchronization
import Testing
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferIntake
@testable import TransferServer

extension ServerTests {
    /// The server does not work long on content that is a few bytes on the wire after its client has gone.
    @Suite(.overEachStore) struct LateContentTests {
        private static let hole = 1 << 20

        /// Puts frames into the buffers of batches, as a session parses them.
        private static func batches(_ operations: [BinaryBatch.Operation], _ frames: [UInt8]) throws -> [BinaryBatch] {
            let pool = BufferPool(size: 256 << 10, count: 16)
            var (parser, rest, batches): (FrameParser, [UInt8], [BinaryBatch]) = (FrameParser(), frames, [])
            repeat {
                let batch = BinaryBatch(try #require(pool.takeNow()), carry: rest)
                if batches.isEmpty { batch.operations += operations }
                parsing: while !batch.isComplete {
                    switch try parser.next(batch.unparsed.bytes) {
                    case .needsMore: break parsing
                    case .message(let message, let consumed):
                        if case .end(let end) = message { batch.operations.append(.end(end)) }
                        batch.consumed(consumed)
                    case .data(let piece, let consumed):
                        batch.append(piece)
                        batch.consumed(consumed)
                    }
                }
                rest = Array(batch.unparsed)
                batches.append(batch)
            } while !rest.isEmpty
            return batches
        }

        private static func holes(_ count: Int, of bytes: Int = hole) -> [UInt8] {
            (0..<count).reduce(into: []) { frames, _ in Hole(count: bytes).encode(into: &frames) }
        }

        private static func worker(_ server: TestServer) -> UploadWorker<BinarySteps> {
            let uploads = ConnectionUploads(
                WorkerResources(server.server.core), connection: 1 << 20, peer: "test",
                progress: ConnectionProgress(1 << 20, peer: "test"))
            return UploadWorker(BinarySteps(uploads, EarlyAnswers()))
        }

        private static func begin(_ size: UInt64, filled: UInt64? = nil) -> BinaryBatch.Operation {
            var begin = Begin(id: .random(), path: "a", size: size)
            begin.filled = filled
            return .begin(begin)
        }

        @Test func aBatchHoldsFewHoles() throws {
            let large = try Self.batches([], Self.holes(1000))
            #expect(large.allSatisfy { $0.operations.count * Self.hole <= BinaryBatch.mostHoles } && large.count == 16)
            let small = try Self.batches([], Self.holes(2000, of: 1))
            #expect(small.map(\.operations.count) == [1024, 976])
        }

        /// Holes for a session that has ended are dropped. The same holes for an open session are processed.
        @Test(arguments: [false, true]) func holesAreDroppedWhenNobodyWaits(_ isEnding: Bool) async throws {
            try await serving { server in
                let worker = Self.worker(server)
                worker.uploads.isAbandoned.store(isEnding, ordering: .relaxed)
                let batches = try Self.batches([Self.begin(1 << 40, filled: 0)], Self.holes(200))
                let outcomes = batches.map { worker.process([$0]) }
                let allAreDone = outcomes.allSatisfy { $0.left != .work }
                #expect(allAreDone)
                guard let upload = worker.uploads.current else { return #expect(Bool(false)) }
                let most = BinarySteps.mostLate + UInt64(Self.hole)
                #expect(isEnding ? upload.size <= most : upload.size == UInt64(200 * Self.hole))
                worker.cancel()
                #expect(server.parts.isEmpty && server.tree.isEmpty)
            }
        }

        /// An upload that was received completely is stored, although its client has gone.
        @Test func contentIsStoredWhenNobodyWaits() async throws {
            try await serving { server in
                let worker = Self.worker(server)
                worker.uploads.isAbandoned.store(true, ordering: .relaxed)
                let content = SplitMix64.bytes(seed: 1, 100_000)
                let frames = Frames.stored(content) + Frames.end(content)
                for batch in try Self.batches([Self.begin(UInt64(content.count))], frames) {
                    _ = worker.process([batch])
                }
                worker.cancel()
                #expect(server.content("a") == content)
            }
        }
    }
}
