import TransferClassic
import TransferConnection
import TransferIO
import TransferIntake
import TransferMail
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// Clients that have names: each is handed what waits for its name, one message after the other, as fast as it takes them.
extension ClassicSession {
    /// Bytes of messages that are made at once, also where too much waits for all clients together.
    private static let room = (usual: Transport.chunkSize / 2, crowded: 16 << 10)

    /// Bytes of messages that may wait for the client before more are made: what the socket takes while the pool makes them.
    private static let ahead = (usual: Transport.chunkSize / 4, crowded: 1)

    /// A connection is never too long unused where the client says each second that it is there.
    private static let forever = Interval.seconds(100 * 365 * 86_400)

    /// Silence is a fault at any time, and so is taking nothing of what is sent.
    func expectHeartbeats() {
        driver.liveness.timeouts.heartbeat = settings.timeouts.silence
        driver.liveness.timeouts.silence = settings.timeouts.silence
        driver.liveness.timeouts.idle = Self.forever
    }

    /// Sends words of the server's own as soon as that is possible.
    func say(_ bytes: [UInt8]) {
        guard chat != nil else { return send(bytes) }
        guard !bytes.isEmpty else { return }
        chat?.say(bytes)
        saySentences()
    }

    private func saySentences() {
        guard hasRoomForAnswers, let said = chat?.takeSaid() else { return }
        send(said)
    }
}

// MARK: Names

extension ClassicSession {
    /// A heartbeat has come: one each second, of thousands of clients.
    func heard(_ name: String, in batch: ClassicBatch) throws(ProtocolFault) {
        guard chat != nil else { return }
        try introduce(name, in: batch)
        guard chat?.awaitsHeartbeat ?? false, let unacknowledged = driver.socket?.unacknowledged else { return }
        let waiting = unacknowledged + outbound.count
        let now = MonotonicTime.now
        let arrived = now + Interval(nanoseconds: -(driver.socket?.timeSinceData ?? 0))
        if chat?.heard(at: now, arrived: arrived, waiting: waiting) ?? false { handOn() }
    }

    /// The client says its name, for the first time or again.
    func introduce(_ name: String, in batch: ClassicBatch) throws(ProtocolFault) {
        guard let chat else { return }
        if let known = chat.name {
            guard known.hasSameBytes(as: name) else {
                throw broken(ClassicFault(.malformedFrame, "A client has one name, and here come two."))
            }
            return
        }
        self.chat?.name = name
        batch.append(.present(name))
    }

    /// The pool has decided about the name.
    func signedIn(_ signIn: Result<String, Failure>) {
        switch signIn {
        case .failure(let error): end(.fault(ProtocolFault(error.code, error.message)))
        case .success(let name): enter(as: name)
        }
    }

    private func enter(as name: String) {
        guard ending == nil, let guests = chat?.guests else { return }
        chat?.worker = ChatWorker(name, guests, names, worker.resources)
        establish(as: name)
        names.enter(name, number) { [weak self, loop] in
            Task(executorPreference: loop) { await self?.displaced() }
        }
        guests.mailroom.enter(name, number)
        guests.mailroom.watch(name, number) { [weak self, loop, bell] in
            if bell.ring() { Task(executorPreference: loop) { await self?.mailCame() } }
        }
        // What came before anybody watched.
        mailCame()
    }

    private func displaced() {
        end(.lost("a client with the same name has come"))
    }

    private func mailCame() {
        bell.heard()
        chat?.hasNews = true
        handOn()
    }
}

// MARK: Handing on

extension ClassicSession {
    func handOn() {
        saySentences()
        guard let chat, chat.worker != nil, !chat.isWorking else { return }
        self.chat?.isWorking = true
        Task(executorPreference: loop) { await self.handOnLoop() }
    }

    private func handOnLoop() async {
        while let worker = chat?.worker, let order = chat?.order(room: roomForMessages, isLast: isDraining) {
            let outcome = await transport.pool.run(for: account) { worker.step(order) }
            take(outcome)
        }
        chat?.isWorking = false
        endIfDrained()
        driver.wake.fire()
    }

    /// Bytes of messages that can be made for the client now.
    private var roomForMessages: Int {
        let isCrowded = transport.isCrowded
        guard ending == nil, !driver.isOver, outbound.count < (isCrowded ? Self.ahead.crowded : Self.ahead.usual) else {
            return 0
        }
        return isCrowded ? Self.room.crowded : Self.room.usual
    }

    private func take(_ outcome: ChatWorker.Outcome) {
        chat?.took(outcome)
        if let chunk = outcome.chunk, chunk.count > 0, !driver.isOver {
            progress.answered(chunk.count)
            outbound.append(chunk)
            flush()
        }
        if let fault = outcome.fault { end(.fault(ProtocolFault(fault.code, fault.message))) }
        saySentences()
    }

    /// Lets what is under way come to an end, and gives the name back.
    func endHandingOn() async {
        guard let chat, let name = chat.worker?.name else { return }
        handOn()
        while self.chat?.isWorking ?? false { await driver.wake.wait() }
        names.leave(name, number)
        chat.guests.mailroom.leave(name, number)
    }
}

extension ProtocolFault {
    static let takesNothing = ProtocolFault(.timedOut, "The client takes nothing of what it is sent.")
}
