import TransferClassic
import TransferConnection
import TransferIO
import TransferIntake
import TransferMail
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// Clients with names: each client receives the deliveries for its name, one message after the other, as fast as it takes them.
extension ClassicSession {
    /// Bytes of messages that are made at once; `crowded` while too much waits for all clients together.
    private static let room = (usual: Transport.chunkSize / 2, crowded: 16 << 10)

    /// Bytes of messages that may wait for the client before more are made: about what the socket takes while the pool makes the next.
    private static let ahead = (usual: Transport.chunkSize / 4, crowded: 1)

    /// An idle time that never ends: the client sends a heartbeat each second, so its connection is never idle.
    private static let forever = Interval.seconds(100 * 365 * 86_400)

    /// From now on, a client that is silent or takes no bytes has broken the rules at any time, and not only inside an upload.
    func expectHeartbeats(on driver: ConnectionDriver) {
        driver.liveness.timeouts.heartbeat = client.settings.timeouts.silence
        driver.liveness.timeouts.silence = client.settings.timeouts.silence
        driver.liveness.timeouts.idle = Self.forever
    }

    /// Sends the server's own sentences as soon as no message is under way.
    func say(_ bytes: [UInt8], on connection: isolated Connection) {
        guard chat != nil else { return connection.send(bytes) }
        guard !bytes.isEmpty else { return }
        chat?.say(bytes)
        saySentences(on: connection)
    }

    private func saySentences(on connection: isolated Connection) {
        guard client.hasRoom(behind: connection.outbound.count), let said = chat?.takeSaid() else { return }
        connection.send(said)
    }
}

// MARK: Names

extension ClassicSession {
    /// Notes a heartbeat. Each of thousands of clients sends one each second.
    func heard(
        _ name: String, in batch: ClassicBatch, on connection: isolated Connection
    ) throws(ProtocolFault) {
        guard chat != nil else { return }
        try introduce(name, in: batch)
        guard chat?.awaitsHeartbeat ?? false, let socket = connection.driver.socket,
            let unacknowledged = socket.unacknowledged
        else { return }
        let waiting = unacknowledged + connection.outbound.count
        let now = MonotonicTime.now
        let arrived = now + Interval(nanoseconds: -(socket.timeSinceData ?? 0))
        if chat?.heard(at: now, arrived: arrived, waiting: waiting) ?? false { handOn(on: connection) }
    }

    /// Notes the name that the client states, for the first time or again.
    func introduce(_ name: String, in batch: ClassicBatch) throws(ProtocolFault) {
        do throws(ClassicFault) {
            if try chat?.introduce(name) ?? false { batch.append(.present(name)) }
        } catch {
            throw wire.broken(error)
        }
    }

    /// Continues after the pool has decided about the name.
    func signedIn(_ signIn: Result<String, Failure>, on connection: isolated Connection) {
        switch signIn {
        case .failure(let error): connection.end(.fault(ProtocolFault(error.code, error.message)))
        case .success(let name): enter(as: name, on: connection)
        }
    }

    private func enter(as name: String, on connection: isolated Connection) {
        guard connection.ending == nil, let guests = chat?.guests else { return }
        chat?.enter(ChatWorker(name, guests, names, worker.uploads.resources))
        establish(as: name)
        names.enter(name, client.number) { [weak connection] in
            connection?.start { $0.end(.lost("another client with the same name connected")) }
        }
        guests.mailroom.enter(name, client.number)
        guests.mailroom.watch(name, client.number) { [weak connection, bell] in
            if bell.ring() { connection?.start { $0.session.mailCame(on: $0) } }
        }
        // Deliveries can have arrived before the mailroom was watched.
        mailCame(on: connection)
    }

    private func mailCame(on connection: isolated Connection) {
        bell.heard()
        chat?.mailCame()
        handOn(on: connection)
    }
}

// MARK: Handing on

extension ClassicSession {
    func handOn(on connection: isolated Connection) {
        saySentences(on: connection)
        guard chat?.beginWork() ?? false else { return }
        connection.start { await $0.session.handOnLoop(on: $0) }
    }

    private func handOnLoop(on connection: isolated Connection) async {
        while let worker = chat?.worker,
            let order = chat?.order(room: roomForMessages(on: connection), isLast: connection.isDraining)
        {
            let outcome = await onPool { worker.step(order) }
            take(outcome, on: connection)
        }
        chat?.endWork()
        endIfDone(on: connection)
        connection.driver.wake.fire()
    }

    /// Bytes of messages that can be made for the client now; 0 if it has to take others first.
    private func roomForMessages(on connection: isolated Connection) -> Int {
        let isCrowded = client.transport.isCrowded
        let ahead = isCrowded ? Self.ahead.crowded : Self.ahead.usual
        guard connection.ending == nil, !connection.driver.isOver, connection.outbound.count < ahead else { return 0 }
        return isCrowded ? Self.room.crowded : Self.room.usual
    }

    private func take(_ outcome: ChatWorker.Outcome, on connection: isolated Connection) {
        chat?.took(outcome)
        if let chunk = outcome.chunk, chunk.count > 0, !connection.driver.isOver {
            client.progress.answered(chunk.count)
            connection.outbound.append(chunk)
            connection.flush()
        }
        if let fault = outcome.fault { connection.end(.fault(ProtocolFault(fault.code, fault.message))) }
        saySentences(on: connection)
    }

    /// Waits until the worker has finished, and releases the name.
    func endHandingOn(on connection: isolated Connection) async {
        guard let chat, let name = chat.worker?.name else { return }
        handOn(on: connection)
        while self.chat?.isWorking ?? false { await connection.driver.wake.wait() }
        names.leave(name, client.number)
        chat.guests.mailroom.leave(name, client.number)
    }
}

extension ProtocolFault {
    static let takesNothing = ProtocolFault(.timedOut, "The client does not read the data that it is sent.")
}
