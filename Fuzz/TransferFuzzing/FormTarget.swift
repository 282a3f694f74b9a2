import TransferHTTP

/// Input: a seed for the cuts (2 bytes), the body of a form with the boundary `x`.
enum FormTarget {
    private enum Step: Equatable {
        case part(MultipartPart)
        case content([UInt8])
        case endOfPart
        case end
    }

    private struct Reading: Equatable {
        var steps: [Step] = []
        var fault: HTTPFault?
    }

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let seed = input.integer(UInt16.self)
        let stream = input.rest()
        guard let boundary = MultipartBoundary("x") else { throw Finding("A boundary is refused.") }
        let reading = try Cuts.check(stream.count, seed: seed) { (ends) throws(Finding) in
            try read(stream, boundary, ends)
        }
        var isOpen = false
        for step in reading.steps {
            switch step {
            case .part:
                try require(!isOpen, "A part begins in another.")
                isOpen = true
            case .content: try require(isOpen, "Content of no part.")
            case .endOfPart:
                try require(isOpen, "A part ends that has not begun.")
                isOpen = false
            case .end: try require(!isOpen, "A form ends within a part.")
            }
        }
        try require(reading.fault != nil || reading.steps.last == .end, "A form is whole without its end.")
    }

    private static func read(
        _ stream: [UInt8], _ boundary: MultipartBoundary, _ ends: [Int]
    ) throws(Finding) -> Reading {
        var reader = MultipartReader(boundary: boundary)
        var reading = Reading()
        var position = 0
        for end in ends {
            while reading.fault == nil, reading.steps.last != .end {
                let progress: MultipartProgress
                do throws(HTTPFault) {
                    let shown = stream.span.bytes.extracting(position..<end)
                    progress = try reader.next(shown, isLast: end == stream.count)
                } catch {
                    reading.fault = error
                    break
                }
                guard progress.step != .needsMore else { break }
                try require(progress.consumed <= end - position, "More is consumed than was shown.")
                append(progress.step, stream, position, to: &reading)
                position += progress.consumed
            }
        }
        return reading
    }

    private static func append(_ step: MultipartStep, _ stream: [UInt8], _ position: Int, to reading: inout Reading) {
        switch step {
        case .needsMore: break
        case .part(let part): reading.steps.append(.part(part))
        case .endOfPart: reading.steps.append(.endOfPart)
        case .end: reading.steps.append(.end)
        case .content(let range):
            let bytes = Array(stream[(position + range.lowerBound)..<(position + range.upperBound)])
            guard case .content(let before) = reading.steps.last else { return reading.steps.append(.content(bytes)) }
            reading.steps[reading.steps.count - 1] = .content(before + bytes)
        }
    }
}
