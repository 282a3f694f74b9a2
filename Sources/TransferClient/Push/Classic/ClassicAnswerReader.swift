import TransferClassic
import TransferModel

/// Reads what a server of a classic framing says to a client.
struct ClassicAnswerReader {
    enum Answer: Equatable {
        case needsMore
        case nothing
        case reply([UInt8])
        case remark(String)
        case close
        case sized(SizedAnswer)
        case result(UInt64, ClassicResult)
    }

    private enum Reader {
        /// Nothing that comes means anything.
        case deaf
        case sized
        case jsonline(JSONLineAnswers)
        case header7(Header7Answers)
        case tagged37(Tagged37Answers)
    }

    private var reader: Reader

    /// The last upload that was taken back, which can be 0 for none: its result is of no interest any more, nor are those
    /// of uploads before it, which can come late.
    private var ignored: UInt64 = 0

    init(_ framing: ClassicFraming) {
        reader =
            switch framing {
            case .sized(_, let isAnswered): isAnswered ? .sized : .deaf
            case .jsonline: .jsonline(JSONLineAnswers())
            case .header7: .header7(Header7Answers())
            case .tagged37: .tagged37(Tagged37Answers())
            case .text: .deaf
            }
    }

    /// - Parameter upload: that was taken back; they grow.
    mutating func ignore(_ upload: UInt64) {
        ignored = upload
    }

    mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> (answer: Answer, consumed: Int) {
        switch reader {
        case .deaf: return (bytes.byteCount > 0 ? .nothing : .needsMore, bytes.byteCount)
        case .sized:
            guard let answer = try SizedAnswer.decode(bytes) else { return (.needsMore, 0) }
            return (.sized(answer), SizedAnswer.size)
        case .jsonline(var answers):
            defer { reader = .jsonline(answers) }
            let (answer, consumed) = try answers.next(bytes)
            switch answer {
            case .needsMore: return (.needsMore, 0)
            case .nothing: return (.nothing, consumed)
            case .sentence(let text): return (.remark(text), consumed)
            }
        case .header7(var answers):
            defer { reader = .header7(answers) }
            let (answer, consumed) = try answers.next(bytes)
            return (said(answer), consumed)
        case .tagged37(var answers):
            defer { reader = .tagged37(answers) }
            let (answer, consumed) = try answers.next(bytes)
            return (said(answer), consumed)
        }
    }

    private func said(_ answer: MessageAnswer) -> Answer {
        switch answer {
        case .needsMore: .needsMore
        case .nothing: .nothing
        case .reply(let bytes): .reply(bytes)
        case .result(let id, _) where id != 0 && id <= ignored: .nothing
        case .result(let id, let result): .result(id, result)
        case .close: .close
        }
    }
}
