import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct ClientConnectionTests {
    enum State: CaseIterable {
        case greeting, open, leaving, closed

        /// A machine that reached this state only by legal frames, with `Sample.id` begun and without a result.
        var machine: ClientConnection {
            get throws {
                var machine = ClientConnection()
                machine.began(Sample.id)
                guard self != .greeting else { return machine }
                _ = try machine.receive(.welcome(Welcome()))
                switch self {
                case .greeting, .open: break
                case .leaving: _ = try machine.receive(.goodbye(Goodbye(.shuttingDown)))
                case .closed: _ = try machine.receive(.result(UploadResult(id: .none, code: .timedOut)))
                }
                return machine
            }
        }

        /// Finds the state of a machine by the messages that it accepts.
        init(_ machine: ClientConnection) {
            var machine = machine
            if (try? machine.receive(.welcome(Welcome()))) != nil {
                self = .greeting
            } else if (try? machine.receive(.ping(0))) == nil {
                self = .closed
            } else {
                self = (try? machine.receive(.goodbye(Goodbye(.shuttingDown)))) == nil ? .leaving : .open
            }
        }
    }

    struct Outcome: Equatable {
        let action: ClientConnection.Action
        let state: State

        init(_ action: ClientConnection.Action, _ state: State) {
            self.action = action
            self.state = state
        }
    }

    /// The client refuses a repetition of messages that a server could otherwise send without end.
    @Test func aServerSaysNothingTwice() throws {
        var machine = try State.open.machine
        _ = try machine.receive(.accept(Sample.id))
        #expect(throws: ProtocolFault.self) { try machine.receive(.accept(Sample.id)) }
        // An upload that is begun again after its result is accepted again.
        _ = try machine.receive(.result(UploadResult(id: Sample.id, code: .busy)))
        machine.began(Sample.id)
        _ = try machine.receive(.accept(Sample.id))
        let digest = Sample.xxh128
        // Blocks are listed in order, each once.
        machine.asked(Sample.otherID)
        for (first, count, isTaken) in [
            (0, 2, true), (1, 1, false), (2, 1, true), (9, 1, true), (9, 1, false), (3, 1, false), (20, 0, false),
            (20, 1, true),
        ] as [(UInt64, Int, Bool)] {
            let digests = [Digest](repeating: digest, count: count)
            let have = Message.have(Have(id: Sample.otherID, first: first, digests: digests))
            #expect(((try? machine.receive(have)) != nil) == isTaken, "\(first) \(count)")
        }
        machine = try State.open.machine
        machine.asked(Sample.otherID)
        #expect(throws: ProtocolFault.self) {
            try machine.receive(.have(Have(id: Sample.otherID, first: .max, digests: [digest, digest])))
        }
    }

    private static let refusal = UploadResult(id: .none, code: .malformedFrame, message: "No.")

    /// Every message. Messages about an upload occur also with an ID that was not begun.
    private static let messages: [Message] = [
        .hello(Hello(agent: "x")), .welcome(Welcome(unacknowledgedUploads: 9)), .ping(7), .pong(7),
        .goodbye(Goodbye(.shuttingDown)), .begin(Sample.begin),
        .resume(Begin(id: Sample.id, path: "c", size: nil, scope: .multipart)),
        .lookup(Lookup([Sample.otherID], digest: .xxh128)), .unknown([Sample.id]), .unknown([Sample.otherID]),
        .have(Have(id: Sample.id, first: 0, digests: [])), .accept(Sample.id), .accept(Sample.otherID),
        .block(BlockDigest(index: 0, digest: Sample.xxh128)), .end(End(size: 0, digest: Sample.xxh128)), .abort,
        .received(Received(id: Sample.id, bytes: 5)), .received(Received(id: Sample.otherID, bytes: 5)),
        .receipts(SignedBatch(number: 1, time: 0, count: 1, signature: [], sender: "")),
        .result(UploadResult(id: Sample.id, code: .committed)),
        .result(UploadResult(id: Sample.otherID, code: .committed)), .result(refusal),
        .list(ListRequest(id: 1, path: "")), .fetch(FetchRequest(id: 1, path: "a")),
        .remove(RemoveRequest(id: 1, path: "a")), .cancel(1), .entries(Entries(id: 1, [])), .file(Sample.file),
        .outcome(TransferProtocol.Outcome(id: 1, code: .completed)),
        .people(PeopleRequest(id: 1)), .persons(Persons(id: 1, [])), .mail(MailRequest(id: 1, .inbox)),
        .deliveries(Deliveries(id: 1, [])), .settle(SettleRequest(id: 1, .delivered, time: 0, [Sample.id])),
        .arrived(1),
        .introduce(IntroduceRequest(id: 1, sealingKey: [1])),
        .compare(CompareRequest(id: 1, .entries, in: "a", Sample.folder)),
        .make(MakeRequest(id: 11, .directory, path: "a")), .move(MoveRequest(id: 21, path: "a", to: "b")),
    ]

    /// The legal messages; all others have to be refused.
    private static func expected(_ message: Message, in state: State) -> Outcome? {
        switch (message, state) {
        case (_, .closed): nil
        case (.result(refusal), _): Outcome(.refused(refusal), .closed)
        case (.welcome(let welcome), .greeting): Outcome(.welcomed(welcome), .open)
        case (.goodbye(let goodbye), .greeting), (.goodbye(let goodbye), .open): Outcome(.leaving(goodbye), .leaving)
        case (_, .greeting): nil
        case (.ping(let token), _): Outcome(.reply(.pong(token)), state)
        case (.pong, _): Outcome(.nothing, state)
        case (.accept(Sample.id), _): Outcome(.accepted(Sample.id), state)
        case (.received(let received), _):
            Outcome(received.id == Sample.id ? .progress(Sample.id, bytes: 5) : .nothing, state)
        case (.result(let result), _) where result.id == Sample.id: Outcome(.finished(result), state)
        default: nil
        }
    }

    @Test(arguments: State.allCases, messages) func everyMessageInEveryState(_ state: State, message: Message) throws {
        var machine = try state.machine
        var outcome: Outcome?
        let code = faultCode { () throws(ProtocolFault) in
            let action = try machine.receive(message)
            outcome = Outcome(action, State(machine))
        }
        let expected = Self.expected(message, in: state)
        #expect(outcome == expected)
        #expect(code == (expected == nil ? .unexpectedFrame : nil))
    }

    @Test func aQuestionIsAnsweredOnce() throws {
        var machine = try State.open.machine
        machine.asked(Sample.otherID)
        let have = Have(id: Sample.otherID, first: 3, digests: [Sample.xxh128])
        #expect(try machine.receive(.have(have)) == .found(have))
        #expect(try machine.receive(.accept(Sample.otherID)) == .accepted(Sample.otherID))
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(.have(have)) } == .unexpectedFrame)
        machine.began(Sample.otherID)
        machine = try State.open.machine
        machine.asked(Sample.otherID)
        let result = UploadResult(id: Sample.otherID, code: .alreadyStored)
        #expect(try machine.receive(.result(result)) == .finished(result))
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(.have(have)) } == .unexpectedFrame)
    }

    private static let ids = (1...3 as ClosedRange<UInt64>).map { UploadID(high: 1, low: $0) }

    /// A machine that has looked up three uploads and has begun another.
    private func lookingUp() throws -> ClientConnection {
        var machine = try State.open.machine
        machine.lookedUp(Self.ids)
        #expect(machine.lookups == 3 && machine.allowance == Limits.unacknowledgedUploads - 4)
        return machine
    }

    @Test func aLookupIsAnsweredOnceForEach() throws {
        var machine = try lookingUp()
        let result = UploadResult(id: Self.ids[1], code: .alreadyStored)
        #expect(try machine.receive(.result(result)) == .known(result))
        #expect(try machine.receive(.unknown([Self.ids[2]])) == .unknown([Self.ids[2]]))
        #expect(try machine.receive(.unknown([Self.ids[0]])) == .unknown([Self.ids[0]]))
        #expect(machine.lookups == 0 && machine.allowance == Limits.unacknowledgedUploads - 1)
        for id in Self.ids {
            for message in [Message.unknown([id]), .result(UploadResult(id: id, code: .committed))] {
                #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(message) } == .unexpectedFrame)
            }
            machine.began(id)
            let result = UploadResult(id: id, code: .committed)
            #expect(try machine.receive(.result(result)) == .finished(result))
        }
    }

    /// All other messages are no answers to a lookup.
    @Test(
        arguments: [
            .accept(ids[0]), .have(Have(id: ids[0], first: 0, digests: [])), .unknown([ids[0], ids[0]]),
            .unknown([ids[0], Sample.id]), .unknown([ids[0], Sample.otherID]),
            .result(UploadResult(id: ids[0], code: .skipped)), .result(UploadResult(id: ids[0], code: .staged)),
            .result(UploadResult(id: ids[0], code: .shuttingDown)),
            .result(UploadResult(id: ids[0], code: .invalidPath)),
        ] as [Message]) func whatIsNoAnswerToALookup(_ message: Message) throws
    {
        var machine = try lookingUp()
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(message) } == .unexpectedFrame)
    }

    @Test func theTableHasEveryMessage() {
        #expect(Set(Self.messages.map(\.function)).count == FunctionCode.allCases.count - 1)
    }

    @Test(
        arguments: [
            (.greeting, false, 4095), (.open, true, 4095), (.leaving, true, 0), (.closed, true, 0),
        ] as [(State, Bool, Int)]) func properties(_ state: State, isWelcomed: Bool, allowance: Int) throws
    {
        let machine = try state.machine
        #expect(machine.isWelcomed == isWelcomed)
        #expect(machine.allowance == allowance)
        #expect(!machine.isSettled)
    }

    @Test func goodbyeOrRefusalIsNoWelcome() throws {
        var machine = ClientConnection()
        _ = try machine.receive(.goodbye(Goodbye(.busy)))
        #expect(!machine.isWelcomed)
        #expect(machine.allowance == 0)
        machine = ClientConnection()
        _ = try machine.receive(.result(Self.refusal))
        #expect(!machine.isWelcomed)
    }

    @Test func allowanceFollowsBeginsAndResults() throws {
        var machine = ClientConnection()
        #expect(machine.allowance == Limits.unacknowledgedUploads)
        _ = try machine.receive(.welcome(Welcome(unacknowledgedUploads: 2)))
        #expect(machine.allowance == 2)
        machine.began(Sample.id)
        machine.began(Sample.otherID)
        #expect(machine.allowance == 0)
        _ = try machine.receive(.result(UploadResult(id: Sample.otherID, code: .invalidPath)))
        #expect(machine.allowance == 1)
        #expect(!machine.isSettled)
        _ = try machine.receive(.result(UploadResult(id: Sample.id, code: .committed)))
        #expect(machine.allowance == 2)
        #expect(machine.isSettled)
    }

    /// The client begins uploads before `welcome` with the baseline limit; it may begin more only when enough of them
    /// have ended.
    @Test func welcomeMayAllowLessThanWasBegun() throws {
        var machine = ClientConnection()
        for number in 1...5 as ClosedRange<UInt64> { machine.began(UploadID(high: 0, low: number)) }
        _ = try machine.receive(.welcome(Welcome(unacknowledgedUploads: 3)))
        #expect(machine.allowance == 0)
    }

    @Test(arguments: [1, 4_096, 4_097, Int(UInt32.max)]) func serversLimitIsClamped(_ limit: Int) throws {
        var machine = ClientConnection()
        _ = try machine.receive(.welcome(Welcome(unacknowledgedUploads: limit)))
        #expect(machine.allowance == min(limit, Limits.unacknowledgedUploads))
    }

    /// With these values, a client would wait for ever, or send empty frames or pings without end.
    @Test(arguments: [
        Welcome(dataBody: 0), Welcome(unacknowledgedUploads: 0), Welcome(heartbeat: 0), Welcome(silence: 0),
    ]) func welcomeThatAllowsNothingIsRefused(_ welcome: Welcome) {
        var machine = ClientConnection()
        let code = faultCode { () throws(ProtocolFault) in _ = try machine.receive(.welcome(welcome)) }
        #expect(code == .malformedFrame)
    }

    @Test func secondResultIsRefused() throws {
        var machine = try State.open.machine
        let result = Message.result(UploadResult(id: Sample.id, code: .committed))
        _ = try machine.receive(result)
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(result) } == .unexpectedFrame)
    }

    @Test func idMayBeUsedAgainAfterItsResult() throws {
        var machine = try State.open.machine
        _ = try machine.receive(.result(UploadResult(id: Sample.id, code: .busy)))
        machine.began(Sample.id)
        #expect(!machine.isSettled)
    }

    @Test func idTwiceInTheWindowIsOne() throws {
        var machine = try State.open.machine
        let (id, allowance) = (UploadID(high: 5, low: 5), machine.allowance)
        machine.began(id)
        machine.began(id)
        #expect(machine.allowance == allowance - 1)
        _ = try machine.receive(.result(UploadResult(id: id, code: .busy)))
        #expect(machine.allowance == allowance)
    }
}
