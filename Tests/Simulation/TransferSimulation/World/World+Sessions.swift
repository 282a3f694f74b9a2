import TransferAccess
import TransferIntake
import TransferPorts
import TransferStore

/// The connections of clients to the server.
extension World {
    func session(_ number: UInt32) -> Session? {
        let index = Int(number) % mix.sessions
        if let session = sessions[index] { return session === busy ? nil : session }
        guard let intake else { return nil }
        connections += 1
        let caller = index % 2
        let way = IntakeSession.Connection(number: connections) { work in work() }
        let made = IntakeSession(intake, way, caller: callers[caller])
        made.run = UInt64(caller + 1)
        if mix.givesReceipts { made.giveReceipts() }
        if mix.keepsReplaced { made.trash = newTrash() }
        let session = Session(made, caller: caller, number: connections)
        sessions[index] = session
        return session
    }

    /// Ends a connection, as a front end does.
    func vanish(_ number: UInt32) throws {
        let index = Int(number) % mix.sessions
        guard let session = sessions[index], session !== busy else { return }
        leave(session)
        sessions[index] = nil
        try noteNames()
    }

    /// Suspends the upload that a session is receiving.
    func suspend(_ session: Session) {
        guard let current = session.current else { return }
        session.current = nil
        done.insert(.suspend)
        guard let claim = current.claim else { return current.open.suspend() }
        end(claim) { current.open.suspend() }
    }

    func leave(_ session: Session) {
        suspend(session)
        for attempt in session.sealed { uploads[attempt.upload].isOnItsWay = false }
        session.intake.leave()
        session.sealed = []
        for index in uploads.indices where uploads[index].caller == session.caller { uploads[index].isOnItsWay = false }
    }

    func everybodyLeaves() {
        for session in sessions.compactMap(\.self) + ghosts where session !== busy { leave(session) }
        sessions = sessions.map { $0 === busy ? $0 : nil }
        ghosts = []
    }
}
