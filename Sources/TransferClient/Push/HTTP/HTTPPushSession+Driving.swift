import TransferConnection
import TransferHTTP
import TransferIO
import TransferModel
import TransferProtocol

/// What the connection says, and what is made of silence.
extension HTTPPushSession: PushSession {
    /// Seconds that a server may take to answer when it has all of a request: some copy what has come, or sync it.
    static let longestAnswer = 120.0

    var isEnding: Bool { ending != nil || isSpent }

    func flushed() {
        watch()
        progress()
        news.fire()
    }

    /// HTTP/1.1 has no signs of life.
    func sendPing() {}

    func queue(_ bytes: [UInt8]) {
        outbound.append(bytes)
        watch()
        flush()
    }

    func establish() {
        driver.liveness.timeouts.heartbeat = Interval(nanoseconds: .max)
        driver.liveness.established(now: .now)
        watch()
    }

    /// A server is only blamed for silence while something is expected of it: to take bytes, or to answer.
    func watch() {
        guard !driver.isOver else { return }
        let usual = run.configuration.silenceTimeout
        driver.liveness.timeouts.silence = .seconds(hasUnsent ? usual : max(usual, Self.longestAnswer))
        driver.liveness.pauseReading(!hasUnsent && exchange == nil, now: .now)
        armTimer()
    }

    /// Bytes of the content of this request that have left.
    var contentGone: UInt64 {
        guard let queued = current?.queued else { return 0 }
        return queued - min(queued, UInt64(outbound.count))
    }

    private func progress() {
        guard let current, !run.channel.isFull else { return }
        let bytes = min(current.upload.size ?? .max, current.before.addingClamped(contentGone))
        run.channel.send(
            .progress(UploadProgress(source: current.upload.label, bytes: bytes, size: current.upload.size)))
    }
}

// MARK: Receiving

extension HTTPPushSession {
    func readLoop() async {
        let hasEnded = await read(holding: ResponseReader.window + (64 << 10)) { bytes in parse(bytes) }
        if hasEnded { peerEnded() }
    }

    /// An answer can last until the end of the connection.
    private func peerEnded() {
        do throws(HTTPFault) {
            try reader.closed()
            if exchange?.head != nil { _ = parse(UnsafeRawBufferPointer(start: nil, count: 0)) }
        } catch {
            return end(.lost("the server closed the connection"))
        }
        spend()
    }

    /// - Returns: how many bytes were taken.
    private func parse(_ bytes: UnsafeRawBufferPointer) -> Int {
        var consumed = 0
        do throws(HTTPFault) {
            while !isEnding {
                let shown = UnsafeRawBufferPointer(rebasing: bytes[consumed...])
                let (step, count) = try reader.next(shown)
                consumed += count
                guard step != .needsMore else { return consumed }
                take(step, shown)
                if exchange?.isOver ?? true, consumed == bytes.count { return consumed }
            }
        } catch {
            // Some servers say that they close before they do.
            guard exchange != nil else {
                spend()
                return bytes.count
            }
            end(.fault(ProtocolFault(.malformedFrame, error.message)))
        }
        return consumed
    }

    private func take(_ step: ResponseStep, _ bytes: UnsafeRawBufferPointer) {
        switch step {
        case .needsMore: break
        case .informational(let head): takeInterim(head)
        case .head(let head, _): exchange?.head = head
        case .content(let range): take(UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .end:
            exchange?.isOver = true
            hasAnswered = true
        }
        news.fire()
    }

    /// Signs of life of a server that works on a request (RFC 9110, section 15.2); one every few seconds lasts for hours.
    private static let mostInterim = 1000

    private func takeInterim(_ head: ResponseHead) {
        if head.status == 100 { exchange?.isContinued = true }
        exchange?.interim += 1
        guard let count = exchange?.interim, count > Self.mostInterim else { return }
        end(.fault(ProtocolFault(.malformedFrame, "The server says \(head.statusText) again and again.")))
    }

    private func take(_ content: UnsafeRawBufferPointer) {
        guard let exchange else { return }
        let room = max(0, HTTPAnswer.mostKept - exchange.body.count)
        self.exchange?.body += content.prefix(room)
        self.exchange?.bodySize += content.count
        if exchange.bodySize + content.count > HTTPAnswer.mostRead {
            end(.fault(ProtocolFault(.frameTooLarge, "An answer has more than \(HTTPAnswer.mostRead) bytes.")))
        }
    }
}
