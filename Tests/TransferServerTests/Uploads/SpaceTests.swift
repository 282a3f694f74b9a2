import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferServer

extension ServerTests {
    @Suite(.overEachStore) struct SpaceTests {
        private static let content = SplitMix64.bytes(seed: 21, 2 * Limits.blockSize)
        private static let size = UInt64(content.count)

        /// The server refuses an upload of known size before its content is sent, one of unknown size during the
        /// content, and one in parts at the first part.
        @Test func theQuotaHoldsForAll() async throws {
            try await serving({ $0.space.quota = Self.size + 5 }) { server in
                let client = try server.greetedClient()
                client.send(Frames.upload("small", [1, 2, 3]))
                #expect(try client.result().code == .committed)
                for _ in 0..<2 {
                    client.send(Frames.begin("large", size: Self.size + 3, expectsAccept: true))
                    let refused = try client.result()
                    #expect(refused.code == .quotaExceeded)
                    #expect(
                        refused.message.contains(
                            "quota of \(Self.size + 5) bytes has \(Self.size + 2) bytes left"))
                    client.send(.abort)
                    let stream = Frames.begin("stream", size: nil)
                    let content = Self.content + [1, 2, 3]
                    #expect(
                        try client.codes(to: stream + Frames.stored(content) + Frames.end(content)) == [.quotaExceeded])
                    let parted = PartedUpload("parted", content)
                    #expect(try client.codes(to: parted.part(0..<Limits.blockSize)) == [.quotaExceeded])
                    #expect(server.tree == ["small"] && server.parts.isEmpty)
                }
                let parted = PartedUpload("parted", Self.content)
                #expect(try client.codes(2, to: parted.inOnePart + parted.multipart) == [.staged, .committed])
                #expect(try client.codes(to: Frames.upload("more", [1, 2, 3])) == [.quotaExceeded])
                #expect(try client.codes(to: Frames.upload("small", [1, 2], conflict: .overwrite)) == [.committed])
                #expect(try client.codes(to: Frames.upload("more", [1, 2, 3])) == [.committed])
                #expect(server.tree == ["more", "parted", "small"])
            }
        }

        @Test(.oneServer) func twoAtATimeCannotPassIt() async throws {
            try await serving({ $0.space.quota = Self.size }) { server in
                let (first, second) = (try server.greetedClient(), try server.greetedClient())
                first.send(Frames.begin("first", size: Self.size, expectsAccept: true))
                try first.expectAccept()
                second.send(Frames.begin("second", size: Self.size, expectsAccept: true))
                #expect(try second.result().code == .quotaExceeded)
                second.send(.abort)
                first.send(.abort)
                #expect(try first.result().code == .aborted)
                second.send(Frames.begin("second", size: Self.size, expectsAccept: true))
                try second.expectAccept()
                second.send(Frames.stored(Self.content) + Frames.end(Self.content))
                #expect(try second.result().code == .committed)
            }
        }

        @Test(.directoryOnly) func enoughStaysFree() async throws {
            try await serving({ $0.space.minimumFree = .max }) { server in
                let client = try server.greetedClient()
                client.send(Frames.begin("large", size: Self.size, expectsAccept: true))
                #expect(try client.result().code == .insufficientStorage)
                client.send(.abort)
                let batch = (0..<3).flatMap { Frames.upload("small-\($0)", [1]) }
                #expect(
                    try client.codes(3, to: batch) == [
                        .insufficientStorage, .insufficientStorage, .insufficientStorage,
                    ])
                #expect(server.tree.isEmpty && server.parts.isEmpty)
            }
        }
    }
}
