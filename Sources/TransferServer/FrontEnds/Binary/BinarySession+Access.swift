import TransferAccess
import TransferCodec
import TransferConnection
import TransferIO
import TransferIntake
import TransferKeys
import TransferModel
import TransferPorts
import TransferProtocol
import TransferSystem

/// Deciding whether the client may connect. Until then nothing after its `hello` is parsed.
extension BinarySession {
    /// Decides whether the client that has sent `hello` may connect. Afterwards it has its welcome, or the session is
    /// ending.
    func decide(_ hello: Hello, on connection: isolated Connection) async {
        guard let gate = client.transport.gate else { return welcome(hello, on: connection) }
        let began = MonotonicTime.now
        let credentials = credentials(hello, connection.driver.socket)
        let decision = await client.transport.accessPool.run {
            Result { () throws(Refusal) in try gate.authenticate(credentials) }
        }
        switch decision {
        case .success(let admission):
            client.log(.admitted(peer: client.origin.name, admission))
            do throws(Refusal) {
                let scope = try UploadScope(admission.grant.source, secret: client.transport.uploadSecret)
                worker.intake.caller = Caller(admission.grant, scope, peer: client.origin.name)
                requests.worker.caller = worker.intake.caller
                pay(as: AccountHolder(admission.grant, client.origin))
                welcome(hello, on: connection)
            } catch {
                await refuse(error, since: began, on: connection)
            }
        case .failure(let refusal):
            await refuse(refusal, since: began, on: connection)
        }
    }

    private func welcome(_ hello: Hello, on connection: isolated Connection) {
        // Before the first upload no thread is in the worker, so its properties can be set.
        worker.intake.run = hello.run
        requests.worker.run = hello.run
        let caller = worker.intake.caller
        client.progress.established(client: caller.name)
        client.establish()
        connection.driver.liveness.established(now: .now)
        // Other deadlines count from here, and they can be earlier than the handshake's deadline.
        connection.armTimer()
        if hello.features.contains(.receipts) { worker.intake.giveReceipts() }
        requests.worker.takesHoles = hello.features.contains(.holes)
        requests.compress(as: hello.features.compressionFormats)
        send(.welcome(welcome(for: caller, on: connection.driver.socket)), on: connection)
        if let person = caller.person { mail.enter(person, of: client) }
    }

    private func welcome(for caller: Caller, on socket: StreamSocket?) -> Welcome {
        let (intake, settings, resources) = (client.intake, client.settings, requests.worker.resources)
        let timeouts = settings.timeouts
        var features: Features = [.files, .folders, .trees, .zstd, .versions]
        if caller.hasMailbox(in: intake) { features.insert(.mail) }
        if intake.takesPieces { features.insert(.pieces) }
        if intake.store.abilities.storesParts { features.insert(.objects) }
        if intake.store.abilities.takesHoles { features.insert(.holes) }
        if caller.mayReplaceAll, resources.offersOwners { features.insert(.owners) }
        if resources.trashes { features.insert(.trashes) }
        if resources.gallery != nil { features.insert(.pictures) }
        return Welcome(
            uploadSize: caller.maximumUpload(of: settings.maximumUpload),
            heartbeat: timeouts.heartbeat.wireMilliseconds,
            silence: timeouts.silence.wireMilliseconds, agent: client.transport.agent,
            keeps: UInt32(clamping: settings.keepUnfinished.nanoseconds / 1_000_000_000),
            serverKey: intake.receiptKey,
            serverKeyProof: socket?.channelBinding.flatMap { intake.receiptKeyProof(on: $0) },
            directory: resources.directoryIdentity, features: features)
    }

    /// Charges the client for the work on the pool from now on.
    private func pay(as holder: AccountHolder) {
        guard client.pay(as: holder) else { return }
        (worker.uploads.account, worker.intake.accountHolder) = (client.account, holder)
        requests.worker.accountHolder = holder
    }

    /// Refuses the client after a delay, so that it cannot try many secrets.
    private func refuse(_ refusal: Refusal, since began: MonotonicTime, on connection: isolated Connection) async {
        let end = began + refusal.delay
        if connection.ending == nil { await connection.loop.wait(until: end.nanoseconds) }
        connection.end(.refused(refusal))
    }

    private func credentials(_ hello: Hello, _ socket: StreamSocket?) -> Credentials {
        Credentials(
            network: client.origin.network, isLocal: client.origin.isLocal,
            key: socket?.clientKey,
            token: hello.token, hostName: hello.clientName.isEmpty ? nil : hello.clientName)
    }
}

extension Features {
    /// The formats in which the client takes compressed content.
    fileprivate var compressionFormats: Set<CompressionFormat> {
        Set(CompressionFormat.allCases.filter { contains($0 == .zlib ? .zlib : .zstd) })
    }
}

extension UploadResult {
    /// The result that tells a client why it may not connect.
    init(_ refusal: Refusal) {
        self.init(
            id: .none, code: refusal.code, message: refusal.message,
            retryAfter: refusal.retryAfter.map { UInt32(clamping: $0.nanoseconds / 1_000_000) })
    }
}

extension Interval {
    /// The value on the wire; at least 1, because 0 would tell a client to wait for ever.
    fileprivate var wireMilliseconds: UInt32 { max(1, UInt32(clamping: nanoseconds / 1_000_000)) }
}
