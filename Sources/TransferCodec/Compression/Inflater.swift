/// Expands frames, each of which holds one zlib stream (RFC 1950), piece by piece and never beyond a limit.
///
/// One task at a time may use it. It holds up to 85 KiB, so make few and reuse them. For each frame, call `begin`,
/// `inflate` for each piece of input, and `finish`. After an error, every call throws it again until the next `begin`.
package final class Inflater {
    private enum State {
        case idle
        case running
        case complete
        case failed(CodecError)
    }

    private let engine: any InflateEngine
    private var state = State.idle
    /// Bytes that the frame may still produce.
    private var allowance = 0

    /// Makes an inflater that waits for `begin`. `engine` must be available.
    package init(engine: CompressionEngine = .automatic) {
        switch engine {
        case .isal:
            // Trap: callers have asked `isAvailable`, whose answer never changes in a process.
            guard let library = ISALibrary.installed else { preconditionFailure("ISA-L is not there") }
            self.engine = ISALInflateEngine(library)
        case .zlib:
            self.engine = ZlibInflateEngine()
        }
    }

    /// Starts a frame that may inflate to at most `limit` bytes, and drops all earlier state.
    package func begin(limit: Int) {
        // Trap: a limit is a difference of sizes that were compared at the beginning of the frame.
        precondition(limit >= 0, "a limit of \(limit) bytes")
        engine.begin()
        allowance = limit
        state = .running
    }

    /// Expands `input` from `consumed` on into `output`, advances `consumed`, and returns the bytes written.
    ///
    /// Call it until `consumed` is `input.count` and fewer than `output.count` bytes were written: then no output is
    /// pending. `output` may be empty only when the frame has produced its limit, and then one call consumes all input.
    ///
    /// Throws `corrupt` if the stream is damaged, needs a preset dictionary or ends before the input does, and
    /// `tooLarge` if it exceeds the limit. After an error, `output` has no valid content. Both buffers are shorter than
    /// 4 GiB.
    package func inflate(
        _ input: UnsafeRawBufferPointer, consumed: inout Int, into output: UnsafeMutableRawBufferPointer
    ) throws(CodecError) -> Int {
        // Trap: only this type advances the count, by numbers that the engines report and that are within bounds.
        precondition((0...input.count).contains(consumed), "\(consumed) of \(input.count) bytes consumed")
        // Trap: only a programming error causes this.
        precondition(!output.isEmpty || allowance == 0, "nowhere to write to")
        let room = UnsafeMutableRawBufferPointer(rebasing: output.prefix(allowance))
        let written = room.isEmpty ? 0 : try step(input, &consumed, into: room)
        allowance -= written
        if allowance == 0 { try expectEnd(input, &consumed) }
        if case .complete = state, consumed < input.count { throw fail(.corrupt) }
        return written
    }

    /// Ends the frame. Throws `corrupt` if the stream is not complete.
    package func finish() throws(CodecError) {
        switch state {
        // Trap: only a programming error causes this.
        case .idle: preconditionFailure("finish before begin")
        case .running: throw fail(.corrupt)
        case .complete: return
        case .failed(let error): throw error
        }
    }

    /// After the limit, only the end of the stream may follow. One byte of room shows whether there is more content.
    private func expectEnd(_ input: UnsafeRawBufferPointer, _ consumed: inout Int) throws(CodecError) {
        var excess: UInt8 = 0
        let written = try withUnsafeMutableBytes(of: &excess) { byte throws(CodecError) in
            try step(input, &consumed, into: byte)
        }
        guard written == 0 else { throw fail(.tooLarge) }
    }

    private func step(
        _ input: UnsafeRawBufferPointer, _ consumed: inout Int, into output: UnsafeMutableRawBufferPointer
    ) throws(CodecError) -> Int {
        switch state {
        // Trap: only a programming error causes this.
        case .idle: preconditionFailure("inflate before begin")
        case .complete: return 0
        case .failed(let error): throw error
        case .running: break
        }
        let step = engine.inflate(UnsafeRawBufferPointer(rebasing: input[consumed...]), into: output)
        consumed += step.read
        switch step.outcome {
        case .more: break
        case .complete: state = .complete
        case .corrupt: throw fail(.corrupt)
        }
        return step.written
    }

    private func fail(_ error: CodecError) -> CodecError {
        state = .failed(error)
        return error
    }
}

/// The reason why a compressed frame is refused.
package enum CodecError: Error, Equatable {
    /// The bytes are not exactly one whole stream or frame: they are damaged, cut short or followed by other bytes, or
    /// need a dictionary.
    case corrupt
    /// The content is larger than the frame may hold.
    case tooLarge
}
