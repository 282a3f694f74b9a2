import Testing
import TransferClient
import TransferModel
import TransferProtocol
import TransferTestSupport

/// The client's reactions to valid and invalid answers of a server.
@Suite struct ClientSessionTests {
    private let three = (0..<3).map { Upload.text("text \($0)", name: "\($0)") }

    @Test(arguments: [nil, 1, 20] as [UInt32?])
    func aBusyServerIsAskedAgain(_ retryAfter: UInt32?) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin() else { return }
            peer.send(.result(UploadResult(id: begin.id, code: .busy, retryAfter: retryAfter)))
            for _ in 0..<3 { peer.commitNext() }
            peer.drain()
        }
        let outcome = try await fake.address.outcome(three)
        #expect(outcome.failure == nil)
        #expect(outcome.codes == [.committed, .committed, .committed])
        #expect(outcome.sources == ["0", "1", "2"])
    }

    /// The second attempt must not be mistaken for the first, which has its result.
    @Test(arguments: [100_000, 17 << 20])
    func aLongUploadIsTriedAgain(_ size: Int) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let first = peer.nextBegin() else { return }
            peer.send(.result(UploadResult(id: first.id, code: .busy, retryAfter: 1)))
            guard let second = peer.nextBegin(), second.id == first.id else { return }
            if second.expectsAccept { peer.send(.accept(second.id)) }
            peer.commit(second)
            peer.drain()
        }
        let outcome = try await fake.address.outcome([.bytes(Array(repeating: 1, count: size), name: "long")])
        #expect(outcome.codes == [.committed])
    }

    @Test func aDamagedUploadIsTriedFiveTimes() async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            while let begin = peer.nextBegin() {
                guard peer.nextEnd() != nil else { return }
                peer.send(.result(UploadResult(id: begin.id, code: .digestMismatch, message: "\(begin.path)")))
            }
        }
        let outcome = try await fake.address.outcome([.text("x", name: "x")])
        #expect(outcome.failure == nil)
        #expect(outcome.codes == [.digestMismatch])
        #expect(fake.begun == ["x", "x", "x", "x", "x"])
    }

    @Test(arguments: [ResultCode.insufficientStorage, .pathConflict, .contentMismatch, ResultCode(rawValue: 999)])
    func whatCannotBeRetriedIsReportedOnce(_ code: ResultCode) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin() else { return }
            peer.send(.result(UploadResult(id: begin.id, code: code, message: "No.")))
            for _ in 0..<2 { peer.commitNext() }
            peer.drain()
        }
        let outcome = try await fake.address.outcome(three)
        #expect(outcome.failure == nil)
        #expect(outcome["0"]?.result == code)
        #expect(outcome["0"]?.message == "No.")
        #expect(outcome["0"]?.storedPath == nil)
        #expect(outcome.sources == ["0", "1", "2"])
        #expect(fake.begun.count == 3)
    }

    /// Another machine may derive this machine's upload IDs. If the server refuses all parts for other content, the
    /// client chooses another ID.
    @Test func aFileInPartsThatMeetsOtherContentTakesAnotherID() async throws {
        let sources = try TemporaryDirectory()
        try Files.write(sources.path("f"), SplitMix64.bytes(seed: 1, 700_000))
        let fake = FakeServer { peer in
            peer.welcome(Welcome(features: .pieces))
            var taken: UploadID?
            while let begin = peer.nextBegin() {
                switch begin.scope {
                case .part(let part):
                    taken = taken ?? part.upload
                    guard part.upload != taken else {
                        peer.send(.result(UploadResult(id: begin.id, code: .contentMismatch)))
                        continue
                    }
                    guard let end = peer.nextEnd() else { return }
                    peer.send(
                        .result(UploadResult(id: begin.id, code: .staged, size: end.size, digest: end.digest)))
                case .multipart: peer.commit(begin)
                case .whole: return
                }
            }
        }
        let outcome = try await fake.address.outcome([.path(sources.path("f"))]) { configuration in
            configuration.sharing = PartSharing(lanes: 8, inPieces: true, sharesShorter: true)
            configuration.lanes = .fixed(1)
        }
        #expect(outcome.codes == [.committed] && outcome.failure == nil)
        #expect(outcome.reports.first?.size == 700_000)
    }

    /// The refusal of the long upload arrives before results of others: its wait for `accept` is over.
    @Test func aRefusalIsNotForgottenForLaterResults() async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let small = peer.nextBegin(), let end = peer.nextEnd(), let long = peer.nextBegin() else { return }
            peer.send(
                .result(UploadResult(id: long.id, code: .insufficientStorage)),
                .result(UploadResult(id: small.id, code: .committed, size: end.size, digest: end.digest)))
            peer.commitNext()
            peer.drain()
        }
        let outcome = try await fake.address.outcome([
            .text("s", name: "small"), .bytes(Array(repeating: 1, count: 17 << 20), name: "long"),
            .text("n", name: "next"),
        ])
        #expect(outcome["small"]?.result == .committed)
        #expect(outcome["long"]?.result == .insufficientStorage)
        #expect(outcome["next"]?.result == .committed)
    }

    /// An upload in progress is not held up by another one that must wait.
    @Test func othersGoOnWhileOneWaits() async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let first = peer.nextBegin(), peer.nextEnd() != nil, let long = peer.nextBegin() else { return }
            peer.send(
                .result(UploadResult(id: first.id, code: .busy, retryAfter: 300)), .accept(long.id))
            peer.commit(long)
            guard let again = peer.nextBegin(), again.id == first.id else { return }
            peer.commit(again)
            peer.drain()
        }
        let outcome = try await fake.address.outcome([
            .text("s", name: "small"), .bytes(Array(repeating: 1, count: 17 << 20), name: "long"),
        ])
        #expect(outcome.reports.map(\.source) == ["long", "small"])
        #expect(outcome.codes == [.committed, .committed])
    }

    @Test func aServerThatStopsIsFollowedByTheNext() async throws {
        let fake = FakeServer(
            { peer in
                peer.welcome()
                guard let begin = peer.nextBegin() else { return }
                peer.send(.result(UploadResult(id: begin.id, code: .shuttingDown)))
                // Refuses every other upload that was begun in the meantime; then no more are begun.
                while let begin = peer.nextBegin() {
                    peer.send(.result(UploadResult(id: begin.id, code: .shuttingDown)))
                }
            },
            { peer in
                peer.welcome()
                for _ in 0..<3 { peer.commitNext() }
                peer.drain()
            })
        let outcome = try await fake.address.outcome(three)
        #expect(outcome.failure == nil)
        #expect(outcome.codes == [.committed, .committed, .committed])
        // The client may have sent each upload a second time when the first answer arrived, but not a third time.
        #expect((6...9).contains(fake.begun.count))
    }

    @Test func aServerThatSaysGoodbyeIsFollowedByTheNext() async throws {
        let fake = FakeServer(
            { peer in
                peer.welcome()
                guard let begin = peer.nextBegin() else { return }
                peer.send(.goodbye(Goodbye(.shuttingDown)))
                peer.commit(begin)
            },
            { peer in
                peer.welcome()
                while let begin = peer.nextBegin() { peer.commit(begin) }
            })
        let outcome = try await fake.address.outcome(three)
        #expect(outcome.failure == nil)
        #expect(outcome.codes == [.committed, .committed, .committed])
        #expect(outcome.sources == ["0", "1", "2"])
        #expect(outcome.connections == 2)
    }

    /// After the last result no upload is missing, so the client does not reconnect.
    @Test(arguments: [true, false])
    func aServerThatGoesAfterTheLastResultIsNotMissed(_ saysGoodbye: Bool) async throws {
        let fake = FakeServer { peer in
            peer.welcome()
            guard let begin = peer.nextBegin(), let end = peer.nextEnd() else { return }
            let result = UploadResult(id: begin.id, code: .committed, size: end.size, digest: end.digest)
            if saysGoodbye {
                peer.send(.result(result), .goodbye(Goodbye(.shuttingDown)))
            } else {
                peer.send(.result(result))
            }
            peer.wire.cut()
        }
        let outcome = try await fake.address.outcome([.text("x", name: "x")]) { $0.retryFor = 5 }
        #expect(outcome.failure == nil)
        #expect(outcome.codes == [.committed])
        #expect(fake.connections == 1)
    }

    /// The server may be silent for longer than the client's time-out, as long as it answers pings.
    @Test func aServerThatAnswersPingsIsNotSilent() async throws {
        let gate = Gate()
        let fake = FakeServer { peer in
            peer.welcome()
            var pings = 0
            while let arrival = peer.next() {
                guard case .message(.ping(let token)) = arrival else { continue }
                peer.send(.pong(token))
                pings += 1
                if pings == 4 { break }
            }
            gate.put(nil)
            guard let begin = peer.nextBegin() else { return }
            peer.commit(begin)
            peer.drain()
        }
        let outcome = try await fake.address.outcome([.stream(GatedSource(gate), name: "s")]) {
            $0.silenceTimeout = 3
        }
        #expect(outcome.failure == nil)
        #expect(outcome.codes == [.committed])
        #expect(outcome.connections == 1)
    }
}
