import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    /// Content that a worker compresses is complete when the client decompresses it.
    @Suite(.overEachStoreIfAsked) struct AnswerCompressionTests {
        /// The frames of a fetch, decoded.
        private struct Answer {
            var content: [UInt8] = []
            var blocks: [BlockDigest] = []
            var end: End?
            /// Bytes of all frames, and of the content, in each chunk.
            var chunks: [(bytes: Int, content: Int)] = []
            var encodings: [BodyEncoding] = []
            var outcomes: [RequestOutcome] = []

            var bytes: Int { chunks.reduce(0) { $0 + $1.bytes } }
        }

        private static let text = Array(
            (0..<160_000).map { "2026-11-20 \($0 &* 2_654_435_761 % 9973) the same again\n" }.joined().utf8)
        private static let random = SplitMix64.bytes(seed: 9, 2 * Limits.blockSize + 77)
        private static let methods = [CompressionMethod(.zlib), .fast, .small]

        private static func fetch(
            _ path: String, from server: TestServer, room: Int = 512 << 10, _ choice: CompressionGovernor.Choice
        ) throws -> Answer {
            let worker = RequestWorker(WorkerResources(server.server.core), peer: "test")
            var answer = Answer()
            var requests = [Request.fetch(FetchRequest(id: 1, path: path))]
            let expansion = FrameExpansion(limit: Limits.dataBody)
            repeat {
                let outcome = worker.step(requests, cancelled: [], room: room, compression: choice, isStopping: false)
                requests = []
                let before = answer.content.count
                try read(outcome.chunk.filled, expansion, into: &answer)
                answer.chunks.append((outcome.chunk.count, answer.content.count - before))
                #expect(outcome.chunk.contentCount == answer.content.count - before)
                answer.outcomes.append(outcome)
                guard outcome.isBusy else { break }
            } while answer.outcomes.count < 10_000
            return answer
        }

        private static func read(
            _ bytes: UnsafeRawBufferPointer, _ expansion: FrameExpansion, into answer: inout Answer
        ) throws {
            var parser = FrameParser()
            var rest = bytes
            while !rest.isEmpty {
                switch try parser.next(rest.bytes) {
                case .needsMore: throw RawClient.Failure(description: "a frame is cut")
                case .message(let message, let consumed):
                    if case .block(let block) = message { answer.blocks.append(block) }
                    if case .end(let end) = message { answer.end = end }
                    rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
                case .data(let piece, let consumed):
                    answer.encodings.append(piece.encoding)
                    let body = UnsafeRawBufferPointer(rebasing: rest[piece.range])
                    switch piece.encoding {
                    case .stored: answer.content += body
                    case .hole: throw RawClient.Failure(description: "a hole that nobody asked for")
                    case .zlib, .zstd:
                        try expansion.expand(
                            body, .init(isFirst: true, isLast: true), piece.encoding == .zlib ? .zlib : .zstd,
                            fault: { $0 }
                        ) { (content) throws(CodecError) in answer.content += content }
                    }
                    rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
                }
            }
        }

        private func expectWhole(_ answer: Answer, _ content: [UInt8]) {
            #expect(answer.content == content)
            #expect(answer.end == End(size: UInt64(content.count), digest: Frames.digest(content)))
            for (index, block) in answer.blocks.enumerated() {
                let piece = content[index * Limits.blockSize..<min(content.count, (index + 1) * Limits.blockSize)]
                #expect(block == BlockDigest(index: UInt64(index), digest: Frames.digest(Array(piece))))
            }
        }

        @Test(arguments: methods, [512 << 10, 32 << 10]) func textShrinks(_ method: CompressionMethod, room: Int)
            async throws
        {
            try await serving { server in
                #expect(server.put(Self.text, "text"))
                let answer = try Self.fetch("text", from: server, room: room, .compress(method))
                expectWhole(answer, Self.text)
                #expect(answer.bytes < Self.text.count / 2)
                // The last bytes of a file or a block may be too few to compress.
                let compressed = answer.encodings.count { $0 == (method.format == .zlib ? .zlib : .zstd) }
                #expect(compressed >= answer.encodings.count - 2)
                #expect(answer.blocks.count == Self.text.count / Limits.blockSize)
                let before = answer.outcomes.reduce(0) { $0 + $1.compression.before }
                let after = answer.outcomes.reduce(0) { $0 + $1.compression.after }
                #expect(before == Self.text.count && after < answer.bytes)
                #expect(answer.outcomes.count { $0.beginsContent } == 1)
            }
        }

        @Test(arguments: methods) func whatDoesNotShrinkGoesAsItIs(_ method: CompressionMethod) async throws {
            try await serving { server in
                #expect(server.put(Self.random, "random"))
                #expect(server.put([1, 2, 3], "short"))
                let answer = try Self.fetch("random", from: server, .compress(method))
                expectWhole(answer, Self.random)
                #expect(answer.encodings.allSatisfy { $0 == .stored })
                #expect(answer.outcomes.allSatisfy { $0.compression.after == $0.compression.before })
                expectWhole(try Self.fetch("short", from: server, .compress(method)), [1, 2, 3])
            }
        }

        /// A file of holes costs its client a turn per MiB like any other file, however few bytes are sent.
        @Test(.directoryOnly) func aStepCompressesOnlySoMuch() async throws {
            try await serving { server in
                let path = server.directory.path("store/holes")
                let size = 24 << 20
                #expect(TestServer.write([], path) && truncate(path, size) == 0)
                let answer = try Self.fetch("holes", from: server, .compress(.small))
                expectWhole(answer, [UInt8](repeating: 0, count: size))
                #expect(answer.chunks.allSatisfy { $0.content <= 1 << 20 })
                #expect(answer.bytes < 64 << 10)
            }
        }

        @Test func methodsAreMeasuredWithWhatIsSent() async throws {
            try await serving { server in
                #expect(server.put(Self.text, "text"))
                let answer = try Self.fetch("text", from: server, .plainMeasuring(Self.methods, bytes: 256 << 10))
                expectWhole(answer, Self.text)
                #expect(answer.encodings.allSatisfy { $0 == .stored })
                #expect(answer.outcomes[0].compression.figures.map(\.method) == Self.methods)
                #expect(answer.outcomes.allSatisfy { $0.compression.before == 0 })
                let plain = try Self.fetch("text", from: server, .plain)
                #expect(plain.outcomes.allSatisfy { $0.compression.figures.isEmpty })
            }
        }

        @Test func whatHasLeftIsCountedOnce() {
            var answers = AnswersOnTheirWay()
            answers.append(100..<200, content: 1000, epoch: 1)
            answers.append(200..<200, content: 5, epoch: 1)
            answers.append(250..<300, content: 0, epoch: 1)
            answers.append(300..<303, content: 10, epoch: 2)
            var left = answers.left(upTo: 100)
            #expect(left.isEmpty)
            left = answers.left(upTo: 150)
            #expect(left.map(\.content) == [500] && left.map(\.epoch) == [1])
            left = answers.left(upTo: 150)
            #expect(left.map(\.content) == [0])
            left = answers.left(upTo: 301)
            #expect(left.map(\.content) == [500, 3] && left.map(\.epoch) == [1, 2])
            left = answers.left(upTo: 1000)
            #expect(left.map(\.content) == [7])
            left = answers.left(upTo: 1000)
            #expect(left.isEmpty)
        }
    }
}
