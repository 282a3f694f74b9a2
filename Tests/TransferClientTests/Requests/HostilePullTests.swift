import CLinux
import Glibc
import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem
import TransferTestSupport

@testable import TransferClient

/// A server that lies cannot make the client store a file outside of the target, under a wrong name, or damaged.
@Suite struct HostilePullTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private var out: String { here.path("out") }

    private static let version = FileVersion(high: 1, low: 2)

    private static func entry(
        _ name: String, size: UInt64 = 3, _ form: ListedEntry.Form = .file, stored digest: Digest? = nil
    ) -> ListedEntry {
        ListedEntry(
            form, name: name, size: size, modified: .init(seconds: 1, nanoseconds: 0), permissions: 0o6777,
            version: version, digest: digest)
    }

    private static func file(_ id: UInt32, size: UInt64 = 3) -> FetchedFile {
        FetchedFile(
            id: id, permissions: 0o7777, size: size, modified: .init(seconds: 1, nanoseconds: 0), version: version)
    }

    private static func digest(_ content: [UInt8]) -> Digest {
        Digest(.xxh128, content.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) })
    }

    private static func data(_ content: [UInt8], _ encoding: BodyEncoding = .stored) -> [UInt8] {
        var frame: [UInt8] = []
        FrameHeader(.data, encoding: encoding, bodyLength: content.count).encode(into: &frame)
        return frame + content
    }

    /// A server with a folder of these entries, which answers each fetch in one way.
    private func server(
        _ entries: [ListedEntry], _ answer: @escaping @Sendable (FakeServer.Peer, UInt32) -> Void
    ) -> FakeServer {
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: .files))
            while let arrival = peer.next() {
                switch arrival {
                case .message(.list(let list)) where list.isAboutItself:
                    peer.send(
                        .entries(Entries(id: list.id, [Self.entry("t", size: 0, .directory)])),
                        .outcome(Ending(id: list.id, code: .completed, count: 1)))
                case .message(.list(let list)):
                    let found = list.path == "t" ? entries : []
                    peer.send(
                        .entries(Entries(id: list.id, found)),
                        .outcome(Ending(id: list.id, code: .completed, count: UInt64(found.count))))
                case .message(.fetch(let fetch)): answer(peer, fetch.id)
                default: continue
                }
            }
        }
        return FakeServer(serve, serve, serve, serve, serve, serve)
    }

    private static func sendWell(_ peer: FakeServer.Peer, _ id: UInt32) {
        peer.send(.file(file(id)))
        peer.wire.send(data([1, 2, 3]))
        peer.send(.end(End(size: 3, digest: digest([1, 2, 3]))))
    }

    private func pull(_ server: FakeServer) async throws -> Pulled {
        let pulled = try await Pulled(["t"], from: server.address, to: out) { $0.retryFor = 0 }
        server.stop()
        return pulled
    }

    // MARK: Compressed content

    /// The content [1, 2, 3] as one frame each, made by hand: a block with stored bytes, and the Adler-32 of RFC 1950.
    private static let zlib: [UInt8] = [0x78, 0x01, 1, 3, 0, 0xfc, 0xff, 1, 2, 3, 0, 0x0d, 0, 0x07]
    private static let zstd: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 3, 0x19, 0, 0, 1, 2, 3]

    private func pull(
        _ body: [UInt8], _ encoding: BodyEncoding, _ compression: ClientConfiguration.Compression
    ) async throws -> (pulled: Pulled, hello: [Features]) {
        let heard = Locked<[Features]>([])
        let serve = { @Sendable (peer: FakeServer.Peer) in
            guard case .message(.hello(let hello))? = peer.next() else { return }
            heard.withLock { $0.append(hello.features) }
            peer.send(.welcome(Welcome(features: .files)))
            while let arrival = peer.next() {
                switch arrival {
                case .message(.list(let list)):
                    peer.send(
                        .entries(Entries(id: list.id, [Self.entry("")])),
                        .outcome(Ending(id: list.id, code: .completed, count: 1)))
                case .message(.fetch(let fetch)):
                    peer.send(.file(Self.file(fetch.id)))
                    peer.wire.send(Self.data(body, encoding))
                    peer.send(.end(End(size: 3, digest: Self.digest([1, 2, 3]))))
                default: continue
                }
            }
        }
        let server = FakeServer(serve)
        let pulled = try await Pulled(["t"], from: server.address, to: out) {
            $0.retryFor = 0
            $0.compression = compression
        }
        server.stop()
        return (pulled, heard.withLock { $0 })
    }

    /// The answer to a fetch is content or the reason for its absence. A success outcome without content, or with half
    /// of it, is a fault, even if the server closes the connection after it.
    @Test(arguments: [true, false], [true, false]) func successWithoutContentIsNone(
        hasBegun: Bool, closes: Bool
    ) async throws {
        let server = server([Self.entry("a")]) { peer, id in
            if hasBegun { peer.send(.file(Self.file(id))) }
            peer.send(.outcome(Ending(id: id, code: .completed)))
            if closes { peer.wire.cut() }
        }
        let pulled = try await pull(server)
        #expect(pulled.failure?.reason == .protocolFault && Files.tree(out) == [])
        #expect(!pulled.results.values.contains { $0.isSuccess })
    }

    /// Damaged answers are not progress, so the client gives up when the time for retries ends.
    @Test func damagedAnswersAreNoProgress() async throws {
        let connections = Locked(0)
        let serve = { @Sendable (peer: FakeServer.Peer) in
            connections.withLock { $0 += 1 }
            peer.welcome(Welcome(features: .files))
            while let arrival = peer.next() {
                guard case .message(let message) = arrival else { continue }
                switch message {
                case .list(let list):
                    peer.send(
                        .entries(Entries(id: list.id, [Self.entry("")])),
                        .outcome(Ending(id: list.id, code: .completed, count: 1)))
                case .fetch(let fetch):
                    peer.send(.file(Self.file(fetch.id)))
                    peer.wire.send(Self.data([9, 9, 9], .zlib))
                    peer.send(.end(End(size: 3, digest: Self.digest([1, 2, 3]))))
                default: continue
                }
            }
        }
        let server = FakeServer(serve, serve, serve, serve, serve, serve, serve, serve, serve, serve, serve, serve)
        let pulled = try await Pulled(["t"], from: server.address, to: out) { $0.retryFor = 0.3 }
        server.stop()
        #expect(pulled.failure != nil && connections.withLock { $0 } < 12)
    }

    /// Answers after a damaged one are dropped and asked for again, like the damaged one, and each only once, even if
    /// the damaged answer has no end.
    @Test(arguments: [true, false]) func whatComesBehindADamagedAnswerIsAskedForAgain(hasEnd: Bool) async throws {
        let first = Locked<[UInt32]>([])
        let fetches = Locked(0)
        let names = ["a", "b", "c"]
        let server = server(names.map { Self.entry($0) }) { peer, id in
            fetches.withLock { $0 += 1 }
            guard fetches.withLock({ $0 <= names.count }) else { return Self.sendWell(peer, id) }
            let ids = first.withLock { ids in
                ids.append(id)
                return ids
            }
            guard ids.count == names.count else { return }
            var frames: [UInt8] = []
            for id in ids.prefix(hasEnd ? ids.count : 1) {
                Message.file(Self.file(id)).encode(into: &frames)
                frames += id == ids[0] ? Self.data([9, 9, 9], .zlib) : Self.data([1, 2, 3])
                if hasEnd { Message.end(End(size: 3, digest: Self.digest([1, 2, 3]))).encode(into: &frames) }
            }
            peer.wire.send(frames)
        }
        let pulled = try await Pulled(["t"], from: server.address, to: out) { $0.lanes = .fixed(1) }
        server.stop()
        #expect(pulled.failure == nil && Files.tree(out) == ["t/a", "t/b", "t/c"])
        #expect(fetches.withLock { $0 } == 2 * names.count)
    }

    @Test(arguments: [(zlib, BodyEncoding.zlib), (zstd, .zstd)])
    func contentIsTakenAsItWasAskedFor(_ body: [UInt8], _ encoding: BodyEncoding) async throws {
        let pulled = try await pull(body, encoding, .auto).pulled
        #expect(pulled.results == ["t": .committed])
        #expect(Files.read(out + "/t") == [1, 2, 3])
    }

    @Test(arguments: [
        (zlib, BodyEncoding.zlib, ClientConfiguration.Compression.none), (zlib, .zlib, .zstd), (zstd, .zstd, .none),
        (zstd, .zstd, .zlib),
    ])
    func whatWasNotAskedForIsAFault(
        _ body: [UInt8], _ encoding: BodyEncoding, _ compression: ClientConfiguration.Compression
    ) async throws {
        let pulled = try await pull(body, encoding, compression).pulled
        #expect(
            pulled.failure?.message.contains("which the client did not request") == true,
            "\(String(describing: pulled.failure))"
        )
        #expect(pulled.reports.isEmpty && Files.tree(here.path).allSatisfy { !$0.hasSuffix("/t") })
    }

    @Test(arguments: [
        (Array(zlib.dropLast()), BodyEncoding.zlib), (zlib + [0], .zlib), (zlib, .zstd), (zstd, .zlib),
        (Array(zstd.dropLast()), .zstd), (zstd + zstd, .zstd), ([], .zstd),
        // 2 MiB of content in 2 MiB of window.
        ([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0x20, 0, 0x19, 0, 0, 1, 2, 3], .zstd),
    ])
    func badFramesAreNoContent(_ body: [UInt8], _ encoding: BodyEncoding) async throws {
        let pulled = try await pull(body, encoding, .auto).pulled
        #expect(pulled.failure != nil && pulled.reports.allSatisfy { $0.result != .committed })
        #expect(Files.tree(here.path).allSatisfy { !$0.hasSuffix("/t") })
    }

    @Test func helloSaysWhatIsTaken() async throws {
        let expected: [(ClientConfiguration.Compression, Features)] = [
            (.none, []), (.zlib, .zlib), (.zstd, .zstd), (.auto, [.zlib, .zstd]),
        ]
        for (compression, features) in expected {
            let hello = try await pull([1, 2, 3], .stored, compression).hello
            #expect(hello.allSatisfy { $0 == features.union(.holes) })
            let configuration = ClientConfiguration.plain { $0.compression = compression }
            #expect(configuration.contentFeatures == features.union(.holes))
        }
    }

    // MARK: Names and digests

    @Test func namesLeadNowhere() async throws {
        let names = ["../up", "a/b", "..", ".", "", "/etc/x", "x\0y", String(repeating: "n", count: 256)]
        let server = server(names.map { Self.entry($0) } + [Self.entry("good")], Self.sendWell)
        let pulled = try await pull(server)
        #expect(Files.tree(here.path) == ["out/t/good"])
        #expect(pulled.reports.filter { $0.result == .invalidPath }.count == names.count)
        #expect(pulled.results["t/good"] == .committed)
    }

    @Test func directoriesLeadNowhere() async throws {
        let names = ["../up", "..", ".", "", "a/b"]
        let pulled = try await pull(server(names.map { Self.entry($0, size: 0, .directory) }, Self.sendWell))
        #expect(pulled.reports.filter { $0.result == .invalidPath }.count == names.count)
        #expect(Files.tree(here.path) == [])
    }

    @Test func theServersOwnFolderIsNotMadeHere() async throws {
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: .files))
            while let arrival = peer.next() {
                guard case .message(.list(let list)) = arrival else { continue }
                let name = list.isAboutItself ? "" : ".transfer"
                peer.send(
                    .entries(Entries(id: list.id, [Self.entry(name, size: 0, .directory)])),
                    .outcome(Ending(id: list.id, code: .completed, count: 1)))
            }
        }
        let server = FakeServer(serve)
        let pulled = try await Pulled([""], from: server.address, to: out) { $0.retryFor = 0 }
        server.stop()
        #expect(pulled.results == [".transfer": .invalidPath])
    }

    @Test func oddPermissionsAreDropped() async throws {
        let pulled = try await pull(server([Self.entry("f")], Self.sendWell))
        #expect(pulled.results["t/f"] == .committed)
        var status = stat()
        #expect(stat("\(out)/t/f", &status) == 0 && status.st_mode & 0o7000 == 0)
    }

    @Test func aWrongDigestIsNoFile() async throws {
        let server = server([Self.entry("f")]) { peer, id in
            peer.send(.file(Self.file(id)))
            peer.wire.send(Self.data([1, 2, 4]))
            peer.send(.end(End(size: 3, digest: Self.digest([1, 2, 3]))))
        }
        let pulled = try await pull(server)
        #expect(pulled.results["t/f"] == .digestMismatch)
        #expect(Files.tree(here.path) == [])
    }

    /// A server can read a file wrongly once.
    @Test func otherContentThatComesOnceIsFetchedAnew() async throws {
        let answers = Locked(0)
        let server = server([Self.entry("f", stored: Self.digest([1, 2, 3]))]) { peer, id in
            let isFirst = answers.withLock { count in
                count += 1
                return count == 1
            }
            guard isFirst else { return Self.sendWell(peer, id) }
            peer.send(.file(Self.file(id)))
            peer.wire.send(Self.data([1, 2, 4]))
            peer.send(.end(End(size: 3, digest: Self.digest([1, 2, 4]))))
        }
        let pulled = try await pull(server)
        #expect(pulled.results == ["t/f": .committed])
        #expect(answers.withLock { $0 } == 2)
    }

    /// The disk has damaged the file and the server sends it as it is; only the catalog has the digest of the stored
    /// content.
    @Test func otherContentThanWasStoredIsNoFile() async throws {
        let entries = [
            Self.entry("rotten", stored: Self.digest([1, 2, 4])), Self.entry("f", stored: Self.digest([1, 2, 3])),
        ]
        let pulled = try await pull(server(entries, Self.sendWell))
        #expect(pulled.results == ["t/rotten": .contentLost, "t/f": .committed])
        #expect(Files.tree(here.path) == ["out/t/f"])
    }

    @Test(arguments: [2, 3] as [UInt64]) func tooLittleIsNoFile(declared: UInt64) async throws {
        let server = server([Self.entry("f")]) { peer, id in
            peer.send(.file(Self.file(id)))
            peer.wire.send(Self.data([1, 2]))
            peer.send(.end(End(size: declared, digest: Self.digest([1, 2]))))
        }
        let pulled = try await pull(server)
        #expect(pulled.results["t/f"] == .sizeMismatch)
        #expect(Files.tree(here.path) == [])
    }

    /// The server would send content forever.
    @Test func tooMuchEndsTheConnection() async throws {
        let server = server([Self.entry("f")]) { peer, id in
            peer.send(.file(Self.file(id)))
            while peer.wire.send(Self.data([UInt8](repeating: 1, count: 1000))) {}
        }
        let pulled = try await pull(server)
        #expect(pulled.failure?.reason == .protocolFault)
        #expect(Files.tree(here.path) == [])
    }

    /// A file whose version differs in each answer is given up eventually.
    @Test func aFileThatAlwaysChangesIsGivenUp() async throws {
        let server = server([Self.entry("f")]) { peer, id in
            var file = Self.file(id)
            file.version = FileVersion(high: 9, low: UInt64(id))
            peer.send(.file(file), .outcome(Ending(id: id, code: .aborted)))
        }
        let pulled = try await pull(server)
        #expect(pulled.results == ["t/f": .fileChanged])
        #expect(Files.tree(here.path) == [])
    }

    @Test func aListThatIsNotWholeIsSaid() async throws {
        let serve = { @Sendable (peer: FakeServer.Peer) in
            peer.welcome(Welcome(features: .files))
            while let arrival = peer.next() {
                guard case .message(.list(let list)) = arrival else { continue }
                peer.send(
                    .entries(Entries(id: list.id, list.isAboutItself ? [Self.entry("t", size: 0, .directory)] : [])),
                    .outcome(Ending(id: list.id, code: .completed, count: 1)))
            }
        }
        #expect(try await pull(FakeServer(serve)).results == ["t": .incomplete])
    }

    @Test(arguments: [
        Message.entries(Entries(id: 77, [])), .end(End(size: 0, digest: digest([]))), .file(file(0)),
        .outcome(Ending(id: 5, code: .completed)),
    ]) func answersToNothingEndTheConnection(_ message: Message) async throws {
        let server = FakeServer { peer in
            peer.welcome(Welcome(features: .files))
            _ = peer.next()
            peer.send(message)
            peer.drain()
        }
        #expect(try await pull(server).failure?.reason == .protocolFault)
    }

    /// The server sends half of a file and stalls; the caller cancels the pull.
    @Test func whoIsCancelledLeavesNothingHalf() async throws {
        let server = server([Self.entry("f")]) { peer, id in
            peer.send(.file(Self.file(id)))
            peer.wire.send(Self.data([1, 2]))
        }
        let client = try TransferClient(server: server.address, configuration: .plain())
        let events = client.pull(["t"], to: out)
        var failure: TransferFailure?
        do throws(TransferFailure) {
            for try await event in events {
                if case .connected = event { events.cancel() }
            }
        } catch {
            failure = error
        }
        server.stop()
        #expect(failure?.reason == .cancelled)
        #expect(Files.tree(here.path) == [])
    }

    @Test func anOlderServerIsSaidToBeOne() async throws {
        let server = FakeServer { peer in
            peer.welcome()
            peer.drain()
        }
        let failure = try await pull(server).failure
        #expect(failure?.reason == .unsupported)
        #expect(failure?.message.contains("older") ?? false)
    }
}
