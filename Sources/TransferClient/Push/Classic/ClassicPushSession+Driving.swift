import TransferClassic
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// Sending, receiving and deadlines of the connection.
extension ClassicPushSession: PushSession {
    var isEnding: Bool { ending != nil }

    func send(_ bytes: [UInt8]) {
        guard !bytes.isEmpty, ending == nil else { return }
        queued += UInt64(bytes.count)
        outbound.append(bytes)
        watch()
        flush()
    }

    func flushed() {
        settleUnanswered()
        watch()
        progress()
        news.fire()
    }

    func sendPing() { send(machine.heartbeat) }

    /// Answers a ping, unless too many answers wait because the server does not read them: pings cost the server
    /// nothing, but their answers take memory.
    private func reply(_ bytes: [UInt8]) {
        if taken >= replies.end { replies.waiting = replies.gathered.count }
        guard replies.waiting < Self.mostReplies else { return }
        replies.waiting += bytes.count
        replies.gathered += bytes
    }

    /// Sends the answers after all received bytes are parsed, so that thousands of pings cost one call.
    private func sendReplies() {
        guard !replies.gathered.isEmpty else { return }
        send(replies.gathered)
        (replies.gathered, replies.end) = ([], queued)
    }

    /// Starts the deadlines: a classic framing has no handshake after connecting.
    func establish() {
        let silence = Interval.seconds(run.configuration.silenceTimeout)
        driver.liveness.timeouts.heartbeat =
            target.client.heartbeatInterval(silence: silence) ?? Interval(nanoseconds: .max)
        driver.liveness.established(now: .now)
        watch()
    }

    /// Watches for silence only while the server has bytes to read or an answer to send. While bytes wait to be sent,
    /// the server shows life only by reading them.
    func watch() {
        guard !driver.isOver else { return }
        driver.hearsLife = !hasUnsent
        driver.liveness.pauseReading(!(hasUnsent || machine.awaitsAnswer), now: .now)
        armTimer()
    }

    private func progress() {
        guard let current, let size = current.source.size, !run.channel.isFull else { return }
        let bytes = min(size, taken > current.start ? taken - current.start : 0)
        run.channel.send(.progress(UploadProgress(source: current.upload.label, bytes: bytes, size: size)))
    }
}

// MARK: Receiving

extension ClassicPushSession {
    func readLoop() async {
        let hasEnded = await read(holding: target.framing.window + (64 << 10)) { bytes in parse(bytes.bytes) }
        if hasEnded { peerEnded() }
    }

    /// Handles the end of the connection. After the goodbye in a framing without answers, it means that everything has
    /// arrived. At any other time, the connection counts as lost.
    func peerEnded() {
        hasPeerEnded = true
        guard !isLeaving else { return news.fire() }
        end(.lost("the server closed the connection"))
    }

    /// - Returns: the number of parsed bytes.
    private func parse(_ bytes: RawSpan) -> Int {
        var consumed = 0
        defer { sendReplies() }
        do throws(ClassicFault) {
            while !isEnding {
                let (heard, count) = try machine.take(bytes.extracting(consumed..<bytes.byteCount))
                consumed += count
                guard heard != .needsMore else { return consumed }
                take(heard)
            }
        } catch {
            broke(ProtocolFault(error.code, error.message))
        }
        return consumed
    }

    private func take(_ heard: ClassicHeard) {
        switch heard {
        case .needsMore, .nothing: break
        case .reply(let bytes): reply(bytes)
        case .verdict(let verdict): take(verdict)
        case .remark(let text): remark = remark ?? text
        case .close: end(.lost("the server said goodbye"))
        }
    }
}
