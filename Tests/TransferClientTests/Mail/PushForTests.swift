import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct PushForTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private static let welcome = Welcome(features: [.files, .mail])

    private func push(
        _ names: [String], to server: FakeServer, for recipients: [String] = ["bob", "carol"],
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> TransferClientTests.Outcome {
        for name in names { try Files.write(here.path(name), Array(name.utf8)) }
        return try await server.address.outcome(names.map { Upload.path(here.path($0)) }) { configuration in
            configuration.recipients = recipients
            configuration.lanes = .fixed(1)
            change(&configuration)
        }
    }

    /// The first upload waits for `accept`; later ones are sent with their content.
    @Test func theFirstUploadWaitsForAnAnswer() async throws {
        let begins = Locked<[Begin]>([])
        let dataBeforeAccept = Locked(0)
        let server = FakeServer { peer in
            peer.welcome(Self.welcome)
            var isAccepted = false
            while let arrival = peer.next() {
                switch arrival {
                case .message(.begin(let begin)):
                    begins.withLock { $0.append(begin) }
                    if begin.expectsAccept {
                        peer.send(.accept(begin.id))
                        isAccepted = true
                    }
                case .data: if !isAccepted { dataBeforeAccept.withLock { $0 += 1 } }
                case .message(.end(let end)):
                    guard let begin = begins.withLock({ $0.last }) else { return }
                    peer.send(
                        .result(
                            UploadResult(
                                id: begin.id, code: .committed, isDurable: true, size: end.size, digest: end.digest)))
                case .message(.lookup(let lookup)): peer.send(.unknown(lookup.ids))
                case .message(.ping(let token)): peer.send(.pong(token))
                default: break
                }
            }
        }
        let outcome = try await push(["a", "b", "c"], to: server)
        server.stop()
        #expect(outcome.codes == [.committed, .committed, .committed] && outcome.failure == nil)
        #expect(outcome.reports.allSatisfy { $0.storedPath == nil && $0.recipients == ["bob", "carol"] })
        let seen = begins.withLock { $0 }
        #expect(seen.map(\.expectsAccept) == [true, false, false] && dataBeforeAccept.withLock { $0 } == 0)
        #expect(seen.allSatisfy { $0.recipients?.names == ["bob", "carol"] })
    }

    /// All uploads of a push have the same recipients, so a single refusal ends the push.
    @Test(arguments: [ResultCode.unknownRecipient, .forbidden]) func aRefusalIsOneForAll(_ code: ResultCode)
        async throws
    {
        let counts = Locked((begins: 0, data: 0))
        let server = FakeServer { peer in
            peer.welcome(Self.welcome)
            while let arrival = peer.next() {
                switch arrival {
                case .message(.begin(let begin)):
                    counts.withLock { $0.begins += 1 }
                    peer.send(.result(UploadResult(id: begin.id, code: code, message: "Nobody is called so.")))
                case .data: counts.withLock { $0.data += 1 }
                case .message(.lookup(let lookup)): peer.send(.unknown(lookup.ids))
                case .message(.ping(let token)): peer.send(.pong(token))
                default: break
                }
            }
        }
        let outcome = try await push(["a", "b", "c"], to: server)
        server.stop()
        #expect(outcome.codes == [code, code, code] && outcome.failure == nil)
        #expect(outcome.reports.allSatisfy { $0.message == "Nobody is called so." })
        #expect(counts.withLock { $0 } == (1, 0))
    }

    @Test func aServerWithoutMailboxesGetsNothing() async throws {
        let server = FakeServer { peer in
            peer.welcome(Welcome(features: .files))
            while let arrival = peer.next() {
                if case .message(.goodbye) = arrival { continue }
                Issue.record("\(arrival)")
            }
        }
        let outcome = try await push(["a"], to: server)
        server.stop()
        #expect(outcome.failure?.reason == .unsupported && outcome.codes == [.cancelled])
        #expect(outcome.failure?.message.contains("mailbox") ?? false)
    }

    @Test func whoItIsForIsPartOfTheID() {
        func id(_ recipients: [String]) -> UploadID {
            var configuration = ClientConfiguration()
            configuration.recipients = recipients
            var status = stat()
            status.st_size = 1
            let file = SourceFile.Identity(status)
            return SourceID(configuration).id(path: "/a", destination: "a", file: file)
        }
        #expect(id(["bob", "carol"]) == id(["carol", "bob", "bob"]))
        #expect(Set([id([]), id(["bob"]), id(["carol"]), id(["bob", "carol"]), id(["bobcarol"])]).count == 5)
        #expect(id(["jos\u{E9}"]) != id(["jose\u{301}"]))
    }

    @Test func whatMakesNoSenseIsRefusedAtOnce() throws {
        let address = try #require(ServerAddress("127.0.0.1:1"))
        func failure(_ change: (inout ClientConfiguration) -> Void) -> TransferFailure? {
            var configuration = ClientConfiguration.plaintext
            configuration.recipients = ["bob"]
            change(&configuration)
            do throws(TransferFailure) {
                _ = try TransferClient(server: address, configuration: configuration)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure { _ in } == nil)
        #expect(failure { $0.recipients = [""] }?.reason == .rejected(.unknownRecipient))
        #expect(failure { $0.recipients = [String(repeating: "b", count: 256)] } != nil)
        #expect(failure { $0.recipients = (0..<3000).map { "b\($0)" } } != nil)
        #expect(failure { $0.wantsReceipts = true }?.reason == .unsupported)
    }

    /// The longest names of recipients and the longest path fit into the room for control frames.
    @Test func theLongestFrameFits() throws {
        let recipients = (10..<54).map { "\($0)" + String(repeating: "b", count: 253) }
        #expect(recipients.reduce(0) { $0 + 1 + $1.utf8.count } == ClientConfiguration.mostRecipientBytes)
        let name = (0..<16).map { _ in String(repeating: "n", count: 255) }.joined(separator: "/")
        #expect(name.utf8.count == Limits.path)
        let begin = Begin(
            id: UploadID(high: 1, low: 1), path: name, size: 1, modified: Timestamp(seconds: 0, nanoseconds: 0),
            permissions: 0, scope: .part(.init(of: UploadID(high: 1, low: 1), offset: 0, total: 1)),
            recipients: Recipients(recipients))
        var frames: [UInt8] = []
        Message.begin(begin).encode(into: &frames)
        Message.end(End(size: 1, digest: Digest(.sha256, [UInt8](repeating: 0, count: 32)))).encode(into: &frames)
        #expect(frames.count < OutgoingChunk.controlRoom)
    }
}
