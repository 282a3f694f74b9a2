import Testing
import TransferModel

@testable import TransferProtocol

@Suite struct RequestTests {
    /// A server that has received `hello`.
    private func server() throws -> ServerConnection {
        var machine = ServerConnection()
        _ = try machine.receive(.hello(Hello(agent: "")))
        return machine
    }

    /// A client that has received `welcome`.
    private func client() throws -> ClientConnection {
        var machine = ClientConnection()
        _ = try machine.receive(.welcome(Welcome(features: .files)))
        return machine
    }

    private func list(_ id: UInt32, _ path: String = "") -> Request { .list(ListRequest(id: id, path: path)) }
    private func fetch(_ id: UInt32) -> Request { .fetch(FetchRequest(id: id, path: "a")) }

    private func file(_ id: UInt32, offset: UInt64 = 0) -> FetchedFile {
        var file = Sample.file
        (file.id, file.offset) = (id, offset)
        return file
    }

    // MARK: The server's side

    @Test func aRequestIsOpenUntilItIsAnswered() throws {
        var machine = try server()
        #expect(try machine.receive(list(1).message) == .request(list(1)))
        #expect(!machine.isSettled && !machine.isReceiving)
        #expect(faultCode { () throws(ProtocolFault) in _ = try machine.receive(list(1).message) } == .unexpectedFrame)
        machine = try server()
        _ = try machine.receive(list(1).message)
        machine.answered(1)
        #expect(machine.isSettled)
        #expect(try machine.receive(list(1).message) == .request(list(1)))
    }

    @Test func onlyWhatIsOpenCanBeCancelled() throws {
        var machine = try server()
        _ = try machine.receive(list(1).message)
        #expect(try machine.receive(.cancel(2)) == .nothing)
        #expect(try machine.receive(.cancel(1)) == .cancel(1))
        machine.answered(1)
        #expect(try machine.receive(.cancel(1)) == .nothing)
    }

    @Test func requestsHaveALimit() throws {
        var machine = try server()
        for id in 0..<UInt32(Limits.requests) { _ = try machine.receive(list(id).message) }
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try machine.receive(list(9_999).message) } == .unexpectedFrame)
    }

    @Test func longPathsCountForMore() throws {
        let path = String(repeating: "p", count: 4_064)
        let most = UInt32(Limits.requestBytes / 4_096)
        var (machine, asking) = (try server(), try client())
        for id in 0..<most {
            #expect(asking.allows(list(id, path)))
            asking.requested(list(id, path))
            _ = try machine.receive(list(id, path).message)
        }
        #expect(!asking.allows(list(most)))
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try machine.receive(list(most).message) } == .unexpectedFrame)
    }

    @Test func anAnswerThatNobodyWaitsForChangesNothing() throws {
        var machine = try server()
        _ = try machine.receive(list(1).message)
        machine.answered(2)
        #expect(!machine.isSettled)
        machine.answered(1)
        machine.answered(1)
        #expect(machine.isSettled)
    }

    /// The path is refused like any path that is too long.
    @Test(arguments: [Limits.path + 1, 70_000, 1 << 20]) func aPathBeyondAnyFrameStaysTooLong(count: Int) throws {
        let path = String(repeating: "é", count: count / 2)
        let messages: [Message] = [
            .list(ListRequest(id: 1, path: path)), .fetch(FetchRequest(id: 1, path: path)),
            .remove(RemoveRequest(id: 1, path: path, isRecursive: true)),
        ]
        for message in messages {
            let found: String
            switch try Message.decode(message.function, unchecked: message.body) {
            case .list(let list): found = list.path
            case .fetch(let fetch): found = fetch.path
            case .remove(let remove): found = remove.path
            case let other: return #expect(Bool(false), "\(other)")
            }
            #expect(throws: RelativePath.Fault.self) { try RelativePath(found) }
        }
        #expect(try client().allows(list(1, path)))
    }

    /// Clients add up sizes and reserve space for them.
    @Test func anEntryIsNoLargerThanAFile() throws {
        var entry = ListedEntry(
            .file, name: "a", size: Limits.uploadSize, modified: Sample.file.modified, permissions: 0)
        let largest = Message.entries(Entries(id: 1, [entry]))
        #expect(try Message.decode(.entries, unchecked: largest.body) == largest)
        entry.size += 1
        let body = Message.entries(Entries(id: 1, [entry])).body
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try Message.decode(.entries, unchecked: body) }
                == .malformedFrame)
    }

    // MARK: The client's side

    @Test func nothingIsAskedBeforeWelcomeOrAfterGoodbye() throws {
        #expect(!ClientConnection().allows(list(1)))
        var machine = try client()
        #expect(machine.allows(list(1)))
        _ = try machine.receive(.goodbye(Goodbye(.shuttingDown)))
        #expect(!machine.allows(list(1)))
    }

    enum Step: CaseIterable {
        case idle
        /// A list was requested, then a file.
        case listing
        /// A file was requested, then a list.
        case waiting
        /// The content of the file arrives.
        case receiving
    }

    private func machine(at step: Step) throws -> ClientConnection {
        var machine = try client()
        switch step {
        case .idle: break
        case .listing:
            machine.requested(list(1))
            machine.requested(fetch(2))
        case .waiting, .receiving:
            machine.requested(fetch(1))
            machine.requested(list(2))
            if step == .receiving { _ = try machine.receive(.file(file(1))) }
        }
        return machine
    }

    private static let block = BlockDigest(index: 0, digest: Sample.xxh128)
    private static let end = End(size: 0, digest: Sample.xxh128)

    private func expected(_ message: Message, at step: Step) -> ClientConnection.Action? {
        switch (message, step) {
        case (.entries(let entries), .listing) where entries.id == 1: .entries(entries)
        case (.outcome(let outcome), .listing) where outcome.id == 1: .outcome(outcome)
        case (.outcome(let outcome), .waiting) where outcome.id == 1: .outcome(outcome)
        case (.outcome(let outcome), .receiving) where outcome.id == 1: .outcome(outcome)
        case (.file(let file), .waiting) where file.id == 1 && file.offset == 0: .file(file)
        case (.block(let block), .receiving): .block(block)
        case (.end(let end), .receiving): .fetched(end)
        default: nil
        }
    }

    /// An answer to the first request is accepted; every other answer ends the connection.
    @Test(arguments: Step.allCases) func everyAnswerAtEveryStep(_ step: Step) throws {
        let answers: [Message] = [
            .entries(Entries(id: 1, Sample.entries)), .entries(Entries(id: 2, [])), .file(file(1)), .file(file(2)),
            .file(file(1, offset: 4 << 20)), .block(Self.block), .end(Self.end),
            .outcome(Outcome(id: 1, code: .completed)), .outcome(Outcome(id: 2, code: .completed)),
        ]
        for answer in answers {
            var machine = try machine(at: step)
            var action: ClientConnection.Action?
            let code = faultCode { () throws(ProtocolFault) in action = try machine.receive(answer) }
            #expect(action == expected(answer, at: step), "\(answer)")
            #expect(code == (action == nil ? .unexpectedFrame : nil), "\(answer)")
        }
        var machine = try machine(at: step)
        #expect(machine.isSettled == (step == .idle))
        let data = faultCode { () throws(ProtocolFault) in try machine.receiveData(.stored, 1) }
        #expect(data == (step == .receiving ? nil : .unexpectedFrame))
    }

    /// The server may use only the encodings that the client has announced.
    @Test(arguments: [[], .zlib, .zstd, .holes, [.zlib, .zstd, .holes], [.receipts, .files, .mail]] as [Features])
    func contentIsEncodedAsHelloAllows(_ features: Features) throws {
        var machine = ClientConnection(features: features)
        _ = try machine.receive(.welcome(Welcome(features: [.files, .zstd, .zlib, .holes])))
        machine.requested(fetch(1))
        _ = try machine.receive(.file(file(1)))
        let codes = [BodyEncoding.stored, .zlib, .zstd, .hole].map { encoding in
            faultCode { () throws(ProtocolFault) in try machine.receiveData(encoding, 1) }
        }
        let zlib: ResultCode? = features.contains(.zlib) ? nil : .unexpectedFrame
        let hole: ResultCode? = features.contains(.holes) ? nil : .unexpectedFrame
        #expect(codes == [nil, zlib, features.contains(.zstd) ? nil : .unexpectedFrame, hole])
    }

    /// The client limits the data that a server may send for a file, because a server could otherwise send unwanted
    /// content without end. The limit leaves room for the overhead of compressed frames.
    @Test func thereIsNoMoreDataThanTheFileHas() throws {
        var machine = ClientConnection(features: .files)
        _ = try machine.receive(.welcome(Welcome(features: .files)))
        machine.requested(fetch(1))
        let file = file(1)
        _ = try machine.receive(.file(file))
        let most = Int(2 * (file.size - file.offset)) + 65_536
        try machine.receiveData(.stored, most)
        #expect(faultCode { () throws(ProtocolFault) in try machine.receiveData(.stored, 1) } == .unexpectedFrame)
    }

    /// Deliveries are listed in the order of their numbers, each once per answer.
    @Test func deliveriesAreListedOnce() throws {
        let listed = Sample.deliveries[0]
        let numbers: ([UInt64]) -> Message = { numbers in
            .deliveries(
                Deliveries(
                    id: 1,
                    numbers.map { number in
                        var delivery = listed
                        delivery.number = number
                        return delivery
                    }))
        }
        for (frames, isTaken) in [
            ([[1, 2], [3]], true), ([[1], [1]], false), ([[2, 1]], false), ([[5], [4]], false), ([[0]], false),
        ] as [([[UInt64]], Bool)] {
            var machine = ClientConnection(features: [.files, .mail])
            _ = try machine.receive(.welcome(Welcome(features: [.files, .mail])))
            machine.requested(.mail(MailRequest(id: 1, .inbox, after: 0, watches: false)))
            let code = faultCode { () throws(ProtocolFault) in
                for frame in frames { _ = try machine.receive(numbers(frame)) }
                _ = try machine.receive(.outcome(Outcome(id: 1, code: .completed)))
            }
            #expect(code == (isTaken ? nil : .unexpectedFrame), "\(frames)")
            guard isTaken else { continue }
            machine.requested(.mail(MailRequest(id: 1, .inbox, after: 0, watches: false)))
            _ = try machine.receive(numbers([1]))
        }
    }

    @Test func aFileGoesOnOnlyWhereItWasAskedFor() throws {
        let request = Request.fetch(FetchRequest(id: 1, path: "a", offset: 4 << 20, version: Sample.version))
        for (offset, version, isTaken) in [
            (0, Sample.version, true), (4 << 20, Sample.version, true), (8 << 20, Sample.version, false),
            (4 << 20, FileVersion.none, false), (0, FileVersion.none, true),
        ] as [(UInt64, FileVersion, Bool)] {
            var machine = try client()
            machine.requested(request)
            var file = file(1, offset: offset)
            file.version = version
            let code = faultCode { () throws(ProtocolFault) in _ = try machine.receive(.file(file)) }
            #expect(code == (isTaken ? nil : .unexpectedFrame), "\(offset)")
        }
    }

    /// Many more requests than may be open at once: answered ones must make room.
    @Test func answersMakeRoom() throws {
        var machine = try client()
        for id in 0..<5_000 as Range<UInt32> {
            #expect(machine.allows(fetch(id)))
            machine.requested(fetch(id))
            if id % 2 == 0 {
                _ = try machine.receive(.outcome(Outcome(id: id, code: .notFound)))
            } else {
                _ = try machine.receive(.file(file(id)))
                _ = try machine.receive(.end(Self.end))
            }
        }
        #expect(machine.isSettled)
    }

    // MARK: Messages

    @Test(
        arguments: [
            (.fetch, [0, 0, 0, 1, 4, 1] + [UInt8](repeating: 0, count: 8) + [0, 1, 0x61]),
            (.fetch, [0, 0, 0, 1, 0, 1] + [0, 0, 0, 0, 0, 0x40, 0, 0] + [0, 1, 0x61]),
            (
                .fetch,
                [0, 0, 0, 1, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 16) + [0, 1, 0x61]
            ),
            (.list, [0, 0, 0, 1, 8, 0, 0]), (.remove, [0, 0, 0, 1, 4, 0, 1, 0x61]),
            (.make, [0, 0, 0, 1, 4, 0, 0, 1, 0x61]), (.make, [0, 0, 0, 1, 1, 8, 0, 1, 0x61]),
            // A link with a zero byte in its target, a link without a target, and a folder with one.
            (.make, [0, 0, 0, 1, 2, 0, 0, 1, 0x61, 0x85, 0, 3, 0x62, 0, 0x63]),
            (.make, [0, 0, 0, 1, 2, 0, 0, 1, 0x61]), (.make, [0, 0, 0, 1, 1, 0, 0, 1, 0x61, 0x85, 0, 1, 0x62]),
            (.make, [0, 0, 0, 1, 1, 0, 0, 1, 0x61, 0x86, 0, 1, 4]),
            (.make, [0, 0, 0, 1, 1, 0, 0, 1, 0x61, 0x86, 0, 0]),
            (.move, [0, 0, 0, 1, 2, 0, 1, 0x61, 0, 1, 0x62]),
            (.move, [0, 0, 0, 1, 0, 0, 1, 0x61, 0, 1, 0x62, 0x87, 0, 1, 0x62]),
            // A version of another length, a version for a new object that replaces nothing, and a version for a copy.
            (.move, [0, 0, 0, 1, 0, 0, 1, 0x61, 0, 1, 0x62, 0x88, 0, 1, 0]),
            (.remove, [0, 0, 0, 1, 0, 0, 1, 0x61, 0x88, 0, 17] + [UInt8](repeating: 0, count: 17)),
            (.make, [0, 0, 0, 1, 1, 0, 0, 1, 0x61, 0x88, 0, 16] + [UInt8](repeating: 0, count: 16)),
            (
                .make,
                [0, 0, 0, 1, 4, 4, 0, 1, 0x61, 0x85, 0, 1, 0x62, 0x88, 0, 16] + [UInt8](repeating: 0, count: 16)
            ),
            (.outcome, [0, 0, 0, 1, 0, 5, 2] + [UInt8](repeating: 0, count: 8)),
            (.entries, [0, 0, 0, 1, 0xFF, 0xFF]),
        ] as [(FunctionCode, [UInt8])]) func whatMakesNoSenseIsMalformed(_ function: FunctionCode, body: [UInt8])
    {
        #expect(
            faultCode { () throws(ProtocolFault) in _ = try Message.decode(function, body: body) } == .malformedFrame)
    }

    @Test func aFileCannotGoOnBehindItsEnd() {
        var file = Sample.file
        file.offset = file.size + 1
        let body = Message.file(file).body
        #expect(faultCode { () throws(ProtocolFault) in _ = try Message.decode(.file, body: body) } == .malformedFrame)
    }

    /// A path that is not UTF-8 is a fault of one request only.
    @Test func aPathThatIsNotUTF8BecomesOneThatNoCheckLetsPass() throws {
        var body: [UInt8] = [0, 0, 0, 1, 0, 0, 1, 0xFF]
        body.appendCheck(from: 0)
        let message = try Message.decode(.list, body: body)
        guard case .list(let list) = message else { throw ProtocolFault(.malformedFrame, "no list") }
        #expect(throws: RelativePath.Fault.self) { try RelativePath(list.path) }
    }

    @Test func noOutcomeIsLongerThanItSays() {
        var outcome = Outcome(
            id: .max, code: .storageFailed, isDurable: true, count: .max,
            message: String(repeating: "ü", count: Limits.text), retryAfter: .max)
        (outcome.unlisted, outcome.trash) = (.max, TrashBatch(at: .max, number: .max))
        #expect(Message.outcome(outcome).frame.count == Outcome.mostBytes)
    }

    @Test func anEntryKnowsItsSize() {
        for entry in Sample.entries {
            var bytes: [UInt8] = []
            entry.encode(into: &bytes)
            #expect(bytes.count == entry.encodedSize)
        }
    }

    @Test func aFrameTakesAsManyEntriesAsItSays() throws {
        let entry = Sample.entries[0]
        let count = Entries.room / entry.encodedSize
        let frame = Message.entries(Entries(id: 1, Array(repeating: entry, count: count))).frame
        #expect(frame.count <= FrameHeader.shortSize + Limits.controlBody)
    }
}
