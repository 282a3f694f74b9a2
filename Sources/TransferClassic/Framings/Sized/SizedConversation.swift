internal import TransferModel

extension ClassicFraming {
    /// The framing with a size, a type and the content.
    ///
    /// - Parameters:
    ///   - total: which bytes the size counts.
    ///   - isAnswered: whether the client reads answers. A client that reads none must not get any: if it closes the connection while bytes
    ///     are unread, its system discards the content that is still on its way.
    package static func sized(total: SizedTotal = .whole, isAnswered: Bool = true) -> ClassicFraming {
        ClassicFraming(
            "sized", port: 5288, window: SizedConversation.headSize,
            options: [
                Option(
                    "total", help: "total=content where the 8 bytes of the head are not counted",
                    values: SizedTotal.allCases.map { total in
                        (total.rawValue, { sized(total: total, isAnswered: isAnswered) })
                    }),
                Option(
                    "answer", help: "answer=no where there are no answers",
                    values: [
                        ("yes", { sized(total: total, isAnswered: true) }),
                        ("no", { sized(total: total, isAnswered: false) }),
                    ]),
            ],
            conversation: { SizedConversation(total: total, isAnswered: isAnswered) },
            client: { _ in SizedClient(total: total, isAnswered: isAnswered) })
    }
}

/// The `sized` framing: a total and a type, 4 bytes each and little-endian, then content of up to 2 GiB; an answer of three
/// such numbers.
///
/// ```
///   head ──8 bytes: begin──► content(run) ──all of it: end──► head
/// ```
package struct SizedConversation: ClassicConversation {
    private enum State {
        case head
        case content(ContentRun)
    }

    /// The size of the head in bytes.
    static let headSize = 8

    private let total: SizedTotal
    private let isAnswered: Bool
    private var state = State.head
    private var number: UInt64 = 0

    package let hasDigests = false

    package var isBetweenMessages: Bool {
        if case .head = state { true } else { false }
    }

    /// - Parameters: see `ClassicFraming.sized`.
    package init(total: SizedTotal = .whole, isAnswered: Bool = true) {
        (self.total, self.isAnswered) = (total, isAnswered)
    }

    package mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> ClassicProgress {
        switch state {
        case .head: try head(bytes)
        case .content(let run): content(bytes, run)
        }
    }

    private mutating func head(_ bytes: RawSpan) throws(ClassicFault) -> ClassicProgress {
        guard bytes.byteCount >= Self.headSize else { return ClassicProgress(.needsMore) }
        let stated = bytes.littleEndian(at: 0, as: Int32.self)
        let type = bytes.littleEndian(at: 4, as: Int32.self)
        let reference = UInt64(UInt32(bitPattern: type))
        guard stated >= total.overhead else {
            throw ClassicFault(
                .malformedFrame, "The total is \(stated); it must be \(total.overhead) or more.", reference: reference)
        }
        guard let kind = SizedType(rawValue: type)?.kind else {
            throw ClassicFault(.malformedFrame, "The type is \(type); it must be 1 to 4.", reference: reference)
        }
        let run = ContentRun(UInt64(stated - total.overhead))
        state = .content(run)
        number += 1
        return ClassicProgress(
            .begin(ClassicUpload(number: number, kind: kind, size: run.size)), consumed: Self.headSize)
    }

    private mutating func content(_ bytes: RawSpan, _ run: ContentRun) -> ClassicProgress {
        var rest = run
        defer { state = run.isOver ? .head : .content(rest) }
        return rest.content(in: bytes)
    }

    package func answer(to upload: ClassicUpload, _ result: ClassicResult) -> [UInt8] {
        let type = upload.kind.flatMap(SizedType.init)?.rawValue ?? 0
        return isAnswered ? SizedAnswer.bytes(type: UInt32(bitPattern: type), isStored: result.isStored) : []
    }

    package func answer(to fault: ClassicFault) -> [UInt8] {
        isAnswered ? SizedAnswer.bytes(type: UInt32(truncatingIfNeeded: fault.reference), isStored: false) : []
    }
}
