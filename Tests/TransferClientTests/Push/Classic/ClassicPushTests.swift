import Testing
import TransferClassic
import TransferModel

@testable import TransferClient

/// The bytes that a client of the classic framings sends, and its reactions to answers.
@Suite struct ClassicPushTests {
    private static let sized = ClassicTarget(.sized(total: .whole, isAnswered: true))
    private static let picture = ClassicPush.Declared(name: "a.png", kind: .picture, size: 3)

    /// Parsed answers, and the code of the fault that ended parsing.
    private struct Heard: Equatable {
        var heard: [ClassicHeard] = []
        var fault: ResultCode?
    }

    /// Passes bytes to the machine in pieces, as a session does.
    private static func hear(_ machine: inout ClassicPush, _ bytes: [UInt8], pieces: Int) -> Heard {
        var (result, buffer) = (Heard(), [UInt8]())
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            buffer += bytes[start..<min(bytes.count, start + pieces)]
            do throws(ClassicFault) {
                while true {
                    let (heard, consumed) = try machine.take(buffer.span.bytes)
                    #expect((0...buffer.count).contains(consumed))
                    buffer.removeFirst(consumed)
                    guard heard != .needsMore else { break }
                    if heard != .nothing { result.heard.append(heard) }
                }
            } catch {
                result.fault = error.code
                return result
            }
        }
        return result
    }

    /// A machine that has sent a whole picture.
    private static func sent(_ target: ClassicTarget) throws -> ClassicPush {
        var machine = ClassicPush(target)
        _ = try machine.begin(picture)
        _ = machine.content([1, 2, 3])
        _ = machine.finish(sha256: [UInt8](repeating: 7, count: 32))
        return machine
    }

    private static func answer(_ type: UInt8, _ result: UInt8, total: UInt8 = 12) -> [UInt8] {
        [total, 0, 0, 0, type, 0, 0, 0, result, 0, 0, 0]
    }

    private static func result(_ json: String) -> [UInt8] {
        [0, 1, 0, 23, 0, UInt8(json.utf8.count >> 8), UInt8(truncatingIfNeeded: json.utf8.count)] + Array(json.utf8)
    }

    @Test func sizedIsAHeadAndTheContent() throws {
        var machine = ClassicPush(Self.sized)
        #expect(machine.greeting == [] && machine.heartbeat == [] && machine.farewell == [])
        #expect(try machine.begin(Self.picture) == [11, 0, 0, 0, 3, 0, 0, 0])
        #expect(machine.content([1, 2, 3]) == [1, 2, 3])
        #expect(machine.finish(sha256: nil) == [])
        let awaits = machine.awaitsAnswer
        #expect(awaits)
    }

    @Test(arguments: 1...13) func answersInAnyPieces(_ pieces: Int) throws {
        for (result, verdict) in [(1, ClassicVerdict.stored), (0, .failed)] as [(UInt8, ClassicVerdict)] {
            var machine = try Self.sent(Self.sized)
            let heard = Self.hear(&machine, Self.answer(3, result), pieces: pieces)
            #expect(heard == Heard(heard: [.verdict(verdict)]))
            // The next upload can begin, and one more answer is too many.
            let surplus = Self.hear(&machine, Self.answer(3, 1), pieces: pieces)
            #expect(surplus.fault == .unexpectedFrame)
        }
    }

    @Test func whatIsNoAnswerIsAFault() throws {
        for (bytes, code) in [
            (Self.answer(3, 2), .malformedFrame), (Self.answer(3, 1, total: 13), .malformedFrame),
            (Self.answer(1, 1), .unexpectedFrame), (Array("HTTP/1.0 400".utf8), .malformedFrame),
        ] as [([UInt8], ResultCode)] {
            var machine = try Self.sent(Self.sized)
            #expect(Self.hear(&machine, bytes, pieces: 5) == Heard(fault: code))
        }
    }

    /// A refusal may arrive before the end of the upload, a success may not.
    @Test func anAnswerBeforeTheEnd() throws {
        var machine = ClassicPush(Self.sized)
        _ = try machine.begin(Self.picture)
        var other = machine
        #expect(Self.hear(&machine, Self.answer(3, 0), pieces: 12) == Heard(heard: [.verdict(.failed)]))
        #expect(machine.abandon("no") == nil)
        #expect(Self.hear(&other, Self.answer(3, 1), pieces: 12) == Heard(fault: .unexpectedFrame))
    }

    @Test func whatAFramingCannotCarry() {
        func refuses(_ framing: ClassicFraming, _ kind: ContentKind?, _ size: UInt64?) -> Bool {
            var machine = ClassicPush(ClassicTarget(framing))
            do throws(Failure) {
                _ = try machine.begin(ClassicPush.Declared(name: "a", kind: kind, size: size))
                return false
            } catch {
                return error.code == .unsuitable
            }
        }
        let sized = Self.sized.framing
        #expect(refuses(sized, .file, 1) && refuses(sized, .text, (1 << 31) - 8) && refuses(sized, .text, .max))
        #expect(refuses(sized, .text, nil) && !refuses(sized, .text, 0) && !refuses(sized, .location, (1 << 31) - 9))
        #expect(!refuses(.sized(total: .content, isAnswered: false), .audio, (1 << 31) - 1))
        #expect(refuses(.jsonline, .text, 0) && refuses(.jsonline, .audio, 1) && refuses(.jsonline, .file, 1))
        #expect(!refuses(.jsonline, .picture, 1) && !refuses(.header7, nil, nil))
    }

    @Test(arguments: [1, 3, 7, 1000]) func resultsOfMessages(_ pieces: Int) throws {
        let target = ClassicTarget(.header7)
        let committed = ClassicResult(.committed, path: "a.png")
        var machine = try Self.sent(target)
        let pingAndResult =
            [0, 1, 0, 3, 0, 0, 0] + Self.result(#"{"id":1,"code":1,"result":"committed","path":"a.png"}"#)
        #expect(
            Self.hear(&machine, pingAndResult, pieces: pieces)
                == Heard(heard: [.reply([0, 1, 0, 4, 0, 0, 2, 0x7B, 0x7D]), .verdict(.result(committed))]))
        for (json, code) in [
            (#"{"id":2,"code":1}"#, .unexpectedFrame), (#"{"id":1,"code":6}"#, .unexpectedFrame),
            (#"{"id":1,"code":607}"#, .unexpectedFrame), (#"{"id":1}"#, .malformedFrame),
            (#"{"id":1,"code":99}"#, .unexpectedFrame), (#"{"id":0,"code":504}"#, .shuttingDown),
            (#"{"id":1,"code":1"#, .malformedFrame),
        ] as [(String, ResultCode)] {
            var machine = try Self.sent(target)
            #expect(Self.hear(&machine, Self.result(json), pieces: pieces) == Heard(fault: code), "\(json)")
        }
    }

    /// A success before the end of the upload is a fault; a refusal is valid, and then the upload is aborted.
    @Test func anEarlyResult() throws {
        var machine = ClassicPush(ClassicTarget(.header7))
        _ = try machine.begin(Self.picture)
        var other = machine
        #expect(
            Self.hear(&other, Self.result(#"{"id":1,"code":1}"#), pieces: 9) == Heard(fault: .unexpectedFrame))
        let refusal = ClassicVerdict.result(ClassicResult(.quotaExceeded))
        #expect(
            Self.hear(&machine, Self.result(#"{"id":1,"code":501}"#), pieces: 9) == Heard(heard: [.verdict(refusal)]))
        #expect(machine.content([1]) == [])
        #expect(machine.abandon("refused")?.starts(with: [0, 1, 0, 21]) == true)
        #expect(try machine.begin(Self.picture).isEmpty == false)
    }

    /// The client ignores the result of an aborted upload.
    @Test func takenBack() throws {
        var machine = ClassicPush(ClassicTarget(.header7))
        _ = try machine.begin(Self.picture)
        #expect(machine.abandon("changed")?.isEmpty == false)
        #expect(Self.hear(&machine, Self.result(#"{"id":1,"code":304}"#), pieces: 9) == Heard())
        #expect(Self.hear(&machine, Self.result(#"{"id":2,"code":304}"#), pieces: 9).fault == .unexpectedFrame)
    }

    /// Results of several aborted uploads may arrive late; a result about the whole conversation is never ignored.
    @Test func severalTakenBack() throws {
        var machine = ClassicPush(ClassicTarget(.header7))
        for _ in 0..<3 {
            _ = try machine.begin(Self.picture)
            #expect(machine.abandon("changed")?.isEmpty == false)
        }
        _ = try machine.begin(Self.picture)
        for id in 1...3 {
            let late = Self.result(#"{"id":\#(id),"code":304}"#)
            #expect(Self.hear(&machine, late, pieces: 9) == Heard(), "\(id)")
        }
        #expect(Self.hear(&machine, Self.result(#"{"id":0,"code":504}"#), pieces: 9).fault == .shuttingDown)
    }

    @Test(arguments: [1, 2, 5, 1000]) func whatAChatSays(_ pieces: Int) throws {
        var machine = ClassicPush(ClassicTarget(.jsonline, as: ClassicParty(sender: "me", recipient: "bob")))
        #expect(!machine.greeting.isEmpty && machine.heartbeat == machine.greeting)
        _ = try machine.begin(Self.picture)
        #expect(machine.heartbeat == [])
        _ = machine.content([1, 2, 3])
        #expect(machine.finish(sha256: nil) == [])
        let awaits = machine.awaitsAnswer
        #expect(!awaits)
        let other = JSONLineMessage.forwarded(.picture, from: "bob", size: 5) + [1, 2, 3, 4, 5]
        let own = JSONLineMessage.forwarded(.text, from: JSONLineMessage.server, size: 4) + Array("Full".utf8)
        #expect(Self.hear(&machine, other + own + other, pieces: pieces) == Heard(heard: [.remark("Full")]))
        #expect(Self.hear(&machine, Array("hello\r\n".utf8), pieces: pieces).fault == .malformedFrame)
    }

    @Test func withoutAnswersNothingMeansAnything() throws {
        var machine = try Self.sent(ClassicTarget(.sized(total: .content, isAnswered: false)))
        #expect(Self.hear(&machine, Array("anything".utf8), pieces: 3) == Heard())
        #expect(try machine.begin(Self.picture) == [3, 0, 0, 0, 3, 0, 0, 0])
    }

    /// No bytes cause a trap, in any state.
    @Test(arguments: ClassicFraming.standard.filter(\.hasClient)) func rubbish(_ framing: ClassicFraming) throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            var machine = Bool.random() ? try Self.sent(ClassicTarget(framing)) : ClassicPush(ClassicTarget(framing))
            let bytes = (0..<Int.random(in: 1...80)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            _ = Self.hear(&machine, bytes, pieces: Int.random(in: 1...20))
        }
    }
}
