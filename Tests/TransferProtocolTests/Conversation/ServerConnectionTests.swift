import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct ServerConnectionTests {
    enum State: CaseIterable {
        case awaitingHello, idle, receiving, skipping, closed

        /// A machine that reached this state only by legal frames.
        var machine: ServerConnection {
            get throws {
                var machine = ServerConnection()
                guard self != .awaitingHello else { return machine }
                _ = try machine.receive(.hello(Hello(agent: "")))
                switch self {
                case .awaitingHello, .idle: break
                case .receiving, .skipping:
                    _ = try machine.receive(.begin(Sample.begin))
                    if self == .skipping { machine.settled(Sample.id) }
                case .closed: _ = try machine.receive(.goodbye(Goodbye(.committed)))
                }
                return machine
            }
        }

        /// Finds the state of a machine by the messages that it accepts.
        init(_ machine: ServerConnection) {
            var machine = machine
            switch try? machine.receiveData() {
            case .store: self = .receiving
            case .skip: self = .skipping
            case nil:
                if (try? machine.receive(.hello(Hello(agent: "")))) != nil {
                    self = .awaitingHello
                } else {
                    self = (try? machine.receive(.ping(0))) == nil ? .closed : .idle
                }
            }
        }
    }

    struct Outcome: Equatable {
        let action: ServerConnection.MessageAction
        let state: State

        init(_ action: ServerConnection.MessageAction, _ state: State) {
            self.action = action
            self.state = state
        }
    }

    private static let block = BlockDigest(index: 0, digest: Sample.xxh128)
    private static let end = End(size: 0, digest: Sample.xxh128)
    private static let question = Begin(id: Sample.otherID, path: "c", size: nil, scope: .multipart)
    private static let lookup = Lookup([Sample.otherID, UploadID(high: 0, low: 2)], digest: .xxh128)
    private static let newBegin = Begin(id: Sample.otherID, path: "b", size: nil)

    private static let requests: [Request] = [
        .list(ListRequest(id: 1, path: "")), .fetch(FetchRequest(id: 2, path: "a")),
        .remove(RemoveRequest(id: 3, path: "a")), .people(PeopleRequest(id: 4)), .mail(MailRequest(id: 5, .sent)),
        .settle(SettleRequest(id: 6, .declined, time: 1, [Sample.id])),
        .introduce(IntroduceRequest(id: 7, sealingKey: [1])),
        .compare(CompareRequest(id: 8, .entries, in: "a", Sample.folder)),
        .make(MakeRequest(id: 18, .directory, path: "a")), .move(MoveRequest(id: 28, path: "a", to: "b")),
    ]

    private static let messages: [Message] =
        requests.map(\.message) + [
            .entries(Entries(id: 1, [])), .file(Sample.file),
            .outcome(TransferProtocol.Outcome(id: 1, code: .completed)), .cancel(1), .persons(Persons(id: 1, [])),
            .deliveries(Deliveries(id: 1, [])), .arrived(1),
            .hello(Hello(agent: "x")), .welcome(Welcome()), .ping(7), .pong(7), .goodbye(Goodbye(.committed)),
            .begin(newBegin), .resume(question), .lookup(lookup), .unknown([Sample.id]),
            .receipts(SignedBatch(number: 1, time: 0, count: 1, signature: [], sender: "")),
            .have(Have(id: Sample.id, first: 0, digests: [])), .accept(Sample.id),
            .block(block), .end(end), .abort,
            .received(Received(id: Sample.id, bytes: 0)), .result(UploadResult(id: Sample.id, code: .committed)),
        ]

    /// The legal messages; all others have to be refused.
    private static func expected(_ message: Message, in state: State) -> Outcome? {
        switch (message, state) {
        case (.hello(let hello), .awaitingHello): Outcome(.welcome(hello), .idle)
        case (_, .awaitingHello), (_, .closed): nil
        case (.ping(let token), _): Outcome(.reply(.pong(token)), state)
        case (.pong, _): Outcome(.nothing, state)
        case (.goodbye, _): Outcome(.close, .closed)
        case (.begin(let begin), .idle): Outcome(.begin(begin), .receiving)
        case (.resume(let begin), .idle): Outcome(.resume(begin), .idle)
        case (.lookup(let lookup), .idle): Outcome(.lookup(lookup), .idle)
        case (.list, .idle), (.fetch, .idle), (.remove, .idle), (.people, .idle), (.mail, .idle), (.settle, .idle),
            (.introduce, .idle), (.compare, .idle), (.make, .idle), (.move, .idle):
            requests.first { $0.message == message }.map { Outcome(.request($0), .idle) }
        case (.cancel, .idle): Outcome(.nothing, .idle)
        case (.block(let block), .receiving): Outcome(.block(block), .receiving)
        case (.end(let end), .receiving): Outcome(.end(end), .idle)
        case (.abort, .receiving): Outcome(.abort, .idle)
        case (.block, .skipping): Outcome(.nothing, .skipping)
        case (.end, .skipping), (.abort, .skipping): Outcome(.nothing, .idle)
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

    /// A request to resume is open until it is answered, beside the upload that follows it.
    @Test func aQuestionCountsUntilItIsAnswered() throws {
        var machine = try State.idle.machine
        #expect(try machine.receive(.resume(Self.question)) == .resume(Self.question))
        #expect(!machine.isSettled && !machine.isReceiving)
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try machine.receive(.resume(Self.question)) }
                == .unexpectedFrame)
        machine.settled(Self.question.id)
        #expect(machine.isSettled)
        #expect(try machine.receive(.begin(Self.question)) == .begin(Self.question))
    }

    /// Each upload that a lookup names is open until it is answered.
    @Test func everyUploadOfALookupCounts() throws {
        var machine = ServerConnection(unacknowledgedLimit: 3)
        _ = try machine.receive(.hello(Hello(agent: "")))
        try upload(3, to: &machine)
        #expect(try machine.receive(.lookup(Self.lookup)) == .lookup(Self.lookup))
        #expect(!machine.isSettled && !machine.isReceiving)
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(begin(4)) } == .unexpectedFrame)
        machine.settled(Self.lookup.ids[0])
        #expect(
            faultCode { () throws(ProtocolFault) in
                _ = try machine.receive(.lookup(Lookup([Self.lookup.ids[1]], digest: .xxh128)))
            } == .unexpectedFrame)
        machine.settled(Self.lookup.ids[1])
        machine.settled(id(3))
        #expect(machine.isSettled)
        try upload(1, to: &machine)
    }

    @Test(arguments: [[1, 2, 1], [3]] as [[UInt64]])
    func aLookupNamesNoUploadThatIsOpen(_ numbers: [UInt64]) throws {
        var machine = try State.idle.machine
        try upload(3, to: &machine)
        let lookup = Lookup(numbers.map(id), digest: .xxh128)
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(.lookup(lookup)) } == .unexpectedFrame)
    }

    @Test func theTableHasEveryMessage() {
        #expect(Set(Self.messages.map(\.function)).count == FunctionCode.allCases.count - 1)
    }

    @Test(
        arguments: [
            (.awaitingHello, nil), (.idle, nil), (.receiving, .store), (.skipping, .skip), (.closed, nil),
        ] as [(State, ServerConnection.DataAction?)])
    func dataInEveryState(_ state: State, expected: ServerConnection.DataAction?) throws {
        var machine = try state.machine
        var action: ServerConnection.DataAction?
        let code = faultCode { () throws(ProtocolFault) in action = try machine.receiveData() }
        #expect(action == expected)
        #expect(code == (expected == nil ? .unexpectedFrame : nil))
        #expect(State(machine) == state)
    }

    @Test(
        arguments: [
            (.awaitingHello, false, false, true), (.idle, true, false, true), (.receiving, true, true, false),
            (.skipping, true, true, false), (.closed, false, false, true),
        ] as [(State, Bool, Bool, Bool)])
    func properties(_ state: State, isOpen: Bool, isReceiving: Bool, isSettled: Bool) throws {
        let machine = try state.machine
        #expect(machine.isOpen == isOpen)
        #expect(machine.isReceiving == isReceiving)
        #expect(machine.isSettled == isSettled)
    }

    @Test func faultsNameTheFrame() throws {
        var machine = try State.idle.machine
        #expect(throws: ProtocolFault(.unexpectedFrame, "The hello frame is not allowed twice.")) {
            try machine.receive(.hello(Hello(agent: "")))
        }
        #expect(throws: ProtocolFault(.unexpectedFrame, "The welcome frame is not allowed from a client.")) {
            try machine.receive(.welcome(Welcome()))
        }
        #expect(throws: ProtocolFault(.unexpectedFrame, "The end frame is not allowed outside an upload.")) {
            try machine.receive(.end(Self.end))
        }
    }

    @Test func windowIsEnforced() throws {
        var machine = ServerConnection(unacknowledgedLimit: 3)
        _ = try machine.receive(.hello(Hello(agent: "")))
        for number in 1...3 as ClosedRange<UInt64> { try upload(number, to: &machine) }
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(begin(4)) } == .unexpectedFrame)
    }

    @Test func windowOpensWithEveryResult() throws {
        var machine = ServerConnection(unacknowledgedLimit: 2)
        _ = try machine.receive(.hello(Hello(agent: "")))
        try upload(1, to: &machine)
        for number in 2...100 as ClosedRange<UInt64> {
            try upload(number, to: &machine)
            #expect(!machine.isSettled)
            machine.settled(id(number - 1))
        }
        machine.settled(id(100))
        #expect(machine.isSettled)
    }

    @Test func theWholeWindowOfTheProtocol() throws {
        var machine = try State.idle.machine
        for number in 1...UInt64(Limits.unacknowledgedUploads) { try upload(number, to: &machine) }
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(begin(5_000)) } == .unexpectedFrame)
    }

    /// A result would not show which of the two uploads it refers to.
    @Test func idMustNotBeBegunAgainBeforeItsResult() throws {
        var machine = try State.idle.machine
        try upload(1, to: &machine)
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(begin(1)) } == .unexpectedFrame)
        machine = try State.idle.machine
        try upload(1, to: &machine)
        machine.settled(id(1))
        try upload(1, to: &machine)
        machine.settled(id(1))
        #expect(machine.isSettled)
    }

    @Test func resultDuringTheUploadSkipsTheRest() throws {
        var machine = try State.idle.machine
        _ = try machine.receive(begin(1))
        #expect(try machine.receiveData() == .store)
        machine.settled(id(1))
        #expect(try machine.receiveData() == .skip)
        #expect(!machine.isSettled)
        #expect(try machine.receive(.end(Self.end)) == .nothing)
        #expect(machine.isSettled)
        #expect(try machine.receive(begin(2)) == .begin(Begin(id: id(2), path: "a", size: nil)))
        #expect(try machine.receiveData() == .store)
    }

    @Test func resultOfAnEarlierUploadDoesNotTouchTheOpenOne() throws {
        var machine = try State.idle.machine
        try upload(1, to: &machine)
        _ = try machine.receive(begin(2))
        machine.settled(id(1))
        #expect(State(machine) == .receiving)
        #expect(!machine.isSettled)
    }

    @Test func resultsMayComeAfterGoodbye() throws {
        var machine = try State.idle.machine
        try upload(1, to: &machine)
        _ = try machine.receive(.goodbye(Goodbye(.committed)))
        #expect(!machine.isSettled)
        machine.settled(id(1))
        #expect(machine.isSettled)
    }

    @Test func resultForWhatWasNotBegunChangesNothing() throws {
        var machine = try State.idle.machine
        _ = try machine.receive(begin(1))
        for id in [Sample.id, id(2)] { machine.settled(id) }
        #expect(!machine.isSettled)
        #expect(try machine.receiveData() == .store)
    }

    private func id(_ number: UInt64) -> UploadID { UploadID(high: 0, low: number) }

    private func begin(_ number: UInt64) -> Message { .begin(Begin(id: id(number), path: "a", size: nil)) }

    private func upload(_ number: UInt64, to machine: inout ServerConnection) throws {
        #expect(try machine.receive(begin(number)) == .begin(Begin(id: id(number), path: "a", size: nil)))
        #expect(try machine.receiveData() == .store)
        #expect(try machine.receive(.end(Self.end)) == .end(Self.end))
    }
}
