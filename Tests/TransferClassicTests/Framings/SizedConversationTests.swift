import Testing
import TransferClassic
import TransferModel

@Suite struct SizedConversationTests {
    private static let framing = ClassicFraming.sized(total: .whole, isAnswered: true)

    private static func upload(_ number: UInt64, _ kind: ContentKind, _ size: UInt64) -> Heard {
        .begin(ClassicUpload(number: number, kind: kind, size: size))
    }

    @Test func uploadsBeforeTheFirstAnswer() {
        let bytes = Wire.sized(1, [UInt8]("hello")) + Wire.sized(2, [1]) + Wire.sized(3, []) + Wire.sized(4, [2, 3])
        #expect(
            Listener.heard(bytes, Self.framing) == [
                Self.upload(1, .text, 5), .content([UInt8]("hello")), .end(ClassicEnd(size: 5)),
                Self.upload(2, .audio, 1), .content([1]), .end(ClassicEnd(size: 1)),
                Self.upload(3, .picture, 0), .end(ClassicEnd(size: 0)),
                Self.upload(4, .location, 2), .content([2, 3]), .end(ClassicEnd(size: 2)),
            ])
    }

    @Test func totalOfTheContentAlone() {
        let heard = Listener.heard(Wire.sized(2, 3, [8, 9]), .sized(total: .content, isAnswered: false))
        #expect(heard == [Self.upload(1, .picture, 2), .content([8, 9]), .end(ClassicEnd(size: 2))])
    }

    @Test func theLargestTotals() throws {
        var conversation = SizedConversation()
        let largest = try conversation.next(Wire.sized(.max, 3).span.bytes)
        #expect(largest.step == .begin(ClassicUpload(number: 1, kind: .picture, size: UInt64(Int32.max) - 8)))
        var other = SizedConversation(total: .content)
        let content = try other.next(Wire.sized(.max, 3).span.bytes)
        #expect(content.step == .begin(ClassicUpload(number: 1, kind: .picture, size: UInt64(Int32.max))))
    }

    @Test(
        arguments: [
            (7, 1, SizedTotal.whole), (0, 1, .whole), (-1, 3, .whole), (.min, 1, .whole), (-1, 2, .content),
            (.min, 2, .content), (9, 0, .whole), (9, 5, .whole), (9, -1, .whole), (9, .max, .content),
        ] as [(Int32, Int32, SizedTotal)])
    func faultsAreAnsweredWithTheTypeAndZero(_ total: Int32, _ type: Int32, _ counted: SizedTotal) {
        let framing = ClassicFraming.sized(total: counted, isAnswered: true)
        guard case .fault(let fault) = Listener.heard(Wire.sized(total, type), framing).last else {
            Issue.record("no fault")
            return
        }
        #expect(fault.code == .malformedFrame)
        #expect(
            framing.conversation().answer(to: fault) == Wire.little(12) + Wire.little(type) + Wire.little(0))
    }

    @Test(
        arguments: [
            (ContentKind.text, ResultCode.committed, 1, 1), (.audio, .committed, 2, 1),
            (.picture, .alreadyStored, 3, 1),
            (.location, .insufficientStorage, 4, 0), (.picture, .invalidPath, 3, 0), (.text, .skipped, 1, 0),
            (.text, .staged, 1, 0), (.text, ResultCode(rawValue: 0), 1, 0),
        ] as [(ContentKind, ResultCode, Int32, Int32)])
    func answers(_ kind: ContentKind, _ code: ResultCode, _ type: Int32, _ result: Int32) throws {
        let upload = ClassicUpload(number: 1, kind: kind, size: 1)
        let bytes = SizedConversation().answer(to: upload, ClassicResult(code))
        #expect(bytes == Wire.little(12) + Wire.little(type) + Wire.little(result))
        let answer = try SizedAnswer.decode(bytes.span.bytes)
        #expect(answer?.kind == kind)
        #expect(answer?.isStored == (result == 1))
    }

    /// Answers that a client leaves unread would make it lose its last upload.
    @Test func aClientThatReadsNoAnswersGetsNone() {
        let conversation = SizedConversation(isAnswered: false)
        #expect(conversation.answer(to: ClassicUpload(number: 1, kind: .text), ClassicResult(.committed)).isEmpty)
        #expect(conversation.answer(to: ClassicFault(.malformedFrame, "")).isEmpty)
    }

    @Test func answersThatAreNone() throws {
        let whole = Wire.little(12) + Wire.little(1) + Wire.little(1)
        for count in 0..<12 { #expect(try SizedAnswer.decode(whole.span.bytes.extracting(first: count)) == nil) }
        for bytes in [
            Wire.little(13) + Wire.little(1) + Wire.little(1), Wire.little(12) + Wire.little(1) + Wire.little(2),
            Wire.little(12) + Wire.little(1) + Wire.little(-1),
        ] {
            #expect(throws: ClassicFault.self) { try SizedAnswer.decode(bytes.span.bytes) }
        }
        let refused = Wire.little(12) + Wire.little(9) + Wire.little(0)
        #expect(try SizedAnswer.decode(refused.span.bytes)?.kind == nil)
    }

    @Test func requestsOfOurOwn() {
        #expect(SizedClient.head(kind: .picture, size: 5) == Wire.sized(13, 3))
        #expect(SizedClient.head(kind: .text, size: 5, total: .content) == Wire.sized(5, 1))
        #expect(SizedClient.head(kind: .text, size: UInt64(Int32.max) - 8) == Wire.sized(.max, 1))
        #expect(SizedClient.head(kind: .text, size: UInt64(Int32.max) - 7) == nil)
        #expect(SizedClient.head(kind: .text, size: .max) == nil)
        #expect(SizedClient.head(kind: .file, size: 1) == nil)
    }

    /// 200 MB are passed on without copies: as many steps as pieces, and no bytes are kept.
    @Test(arguments: [(7, 1 << 18), (65_537, 50_000_000), (1 << 20, 200_000_000)])
    func contentIsNotCopied(_ longest: Int, _ size: Int) throws {
        var conversation = SizedConversation()
        let progress = try conversation.next(Wire.sized(Int32(size + 8), 3).span.bytes)
        #expect(progress.consumed == 8)
        let piece = [UInt8](repeating: 1, count: longest)
        var (remaining, steps) = (size, 0)
        while remaining > 0 {
            let progress = try conversation.next(piece.span.bytes)
            let count = min(longest, remaining)
            guard progress.step == .content(0..<count), progress.consumed == count else {
                Issue.record("\(progress)")
                return
            }
            remaining -= count
            steps += 1
        }
        #expect(steps == (size + longest - 1) / longest)
        #expect(try conversation.next(piece.span.bytes).step == .end(ClassicEnd(size: UInt64(size))))
        let isOver = conversation.isBetweenMessages
        #expect(isOver)
    }
}
