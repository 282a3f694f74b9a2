import TransferClassic
import TransferModel
import TransferTestSupport

/// Input: number of the framing (1 byte), a seed for the cuts (2 bytes), the stream.
enum DialectTarget {
    /// Longer streams are not read byte by byte: that would take long and show no more.
    private static let longestByteByByte = 2048

    /// The framings of `ClassicFraming.standard`, in its order, and one with other options.
    private static let framings = ClassicFraming.standard + [.sized(total: .content, isAnswered: false)]

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let framing = framings[Int(input.byte()) % framings.count]
        let seed = input.integer(UInt16.self)
        let stream = input.rest()
        let whole = try DialectReading(stream, framing, arrivingUpTo: CollectionOfOne(stream.count))
        try require(
            DialectReading(stream, framing, arrivingUpTo: cuts(stream.count, seed: seed)) == whole,
            "The cuts change the steps.")
        if stream.count <= longestByteByByte {
            try require(
                DialectReading(stream, framing, arrivingUpTo: 0...stream.count) == whole,
                "Single bytes change the steps.")
        }
        try checkOrder(whole)
        try checkAnswers(whole, framing)
    }

    private static func cuts(_ count: Int, seed: UInt16) -> [Int] {
        var generator = SplitMix64(seed: UInt64(seed))
        let longest = Int(seed % 64) + 1
        var ends = [0]
        while let last = ends.last, last < count {
            ends.append(min(count, last + .random(in: 0...longest, using: &generator)))
        }
        return ends
    }

    private static func checkOrder(_ reading: DialectReading) throws(Finding) {
        var isOpen = false
        for step in reading.steps {
            switch step {
            case .begin:
                try require(!isOpen, "An upload begins in another.")
                isOpen = true
            case .decoded: try require(isOpen, "Content of no upload.")
            case .end, .abort:
                try require(isOpen, "An upload ends that has not begun.")
                isOpen = false
            default: break
            }
        }
        try require(!isOpen || !reading.isBetweenMessages, "The conversation is wrong about where it stands.")
    }

    /// The answers to any client can be read, and fit their messages.
    private static func checkAnswers(_ reading: DialectReading, _ framing: ClassicFraming) throws(Finding) {
        let conversation = framing.conversation()
        for case .begin(let upload) in reading.steps {
            let name = upload.name.flatMap { ClassicName.told($0) }?.string
            let result = ClassicResult(name == nil ? .invalidPath : .committed, path: name, message: upload.sender)
            try check(conversation.answer(to: upload, result), framing)
        }
        if let fault = reading.fault { try check(conversation.answer(to: fault), framing) }
    }

    private static func check(_ answer: [UInt8], _ framing: ClassicFraming) throws(Finding) {
        do throws(ClassicFault) {
            guard var client = framing.client() else { return }
            var position = 0
            while true {
                let (heard, consumed) = try client.next(answer.span.bytes.extracting(position...))
                guard heard != .needsMore else { break }
                position += consumed
            }
            guard position == answer.count else { throw ClassicFault(.malformedFrame, "It has another length.") }
        } catch {
            throw Finding("An answer cannot be read: \(error.message)")
        }
    }
}
