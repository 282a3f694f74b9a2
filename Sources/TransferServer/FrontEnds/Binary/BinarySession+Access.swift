import TransferAccess
import TransferCodec
import TransferConnection
import TransferIO
import TransferIntake
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem

/// Whether the client may come in. Until that is known nothing behind its `hello` is looked at.
extension BinarySession {
    /// Decides about the client that has said hello. Afterwards it has its welcome, or the session is ending.
    func decide(_ hello: Hello) async {
        guard let gate = transport.gate else { return welcome(hello) }
        let began = MonotonicTime.now
        let credentials = credentials(hello)
        let decision = await transport.accessPool.run {
            Result { () throws(Refusal) in try gate.authenticate(credentials) }
        }
        switch decision {
        case .success(let admission):
            observability.log.write([.admitted(peer: peer, admission)])
            do throws(Refusal) {
                let scope = try UploadScope(admission.grant.source, secret: transport.uploadSecret)
                worker.intake.caller = Caller(admission.grant, scope, peer: peer)
                requestWorker.client = worker.intake.caller
                pay(as: AccountHolder(admission.grant, origin))
                welcome(hello)
            } catch {
                await refuse(error, since: began)
            }
        case .failure(let refusal):
            await refuse(refusal, since: began)
        }
    }

    private func welcome(_ hello: Hello) {
        // Before the first upload, so that no thread is in the worker yet.
        worker.intake.run = hello.run
        requestWorker.run = hello.run
        let caller = worker.intake.caller
        progress.established(client: caller.grant.source == .everyone ? nil : caller.sender)
        transport.limits.withLock { $0.establish(number) }
        driver.liveness.established(now: .now)
        // From here other deadlines count, and they may come before that of the handshake.
        armTimer()
        if hello.features.contains(.receipts) { worker.intake.giveReceipts() }
        requestWorker.takesHoles = hello.features.contains(.holes)
        let formats = hello.features.compressionFormats
        if !formats.isEmpty { governor = CompressionGovernor(.auto, formats: formats) }
        let timeouts = settings.timeouts
        var features: Features = [.files, .folders, .trees, .zstd, .holes, .versions]
        if caller.hasMailbox(in: intake) { features.insert(.mail) }
        if intake.takesPieces { features.insert(.pieces) }
        if caller.mayReplaceAll, requestWorker.resources.offersOwners { features.insert(.owners) }
        if requestWorker.resources.trashes { features.insert(.trashes) }
        send(
            .welcome(
                Welcome(
                    uploadSize: caller.maximumUpload(of: settings.maximumUpload),
                    heartbeat: timeouts.heartbeat.wireMilliseconds,
                    silence: timeouts.silence.wireMilliseconds, agent: transport.agent,
                    keeps: UInt32(clamping: settings.keepUnfinished.nanoseconds / 1_000_000_000),
                    serverKey: intake.receiptKey,
                    serverKeyProof: driver.socket?.channelBinding.flatMap { intake.receiptKeyProof(on: $0) },
                    directory: requestWorker.resources.directory, features: features)))
        enterMailroom()
    }

    /// Work on the pool is the client's from now on.
    private func pay(as holder: AccountHolder) {
        guard holder != accountHolder else { return }
        transport.accounts.leave(accountHolder)
        accountHolder = holder
        account = transport.accounts.enter(holder)
        (worker.uploads.account, worker.intake.accountHolder) = (account, holder)
    }

    /// Not at once, so that nobody can try much.
    private func refuse(_ refusal: Refusal, since began: MonotonicTime) async {
        let end = began + refusal.delay
        if ending == nil { await loop.wait(until: end.nanoseconds) }
        self.end(.refused(refusal))
    }

    private func credentials(_ hello: Hello) -> Credentials {
        Credentials(
            network: origin.network, isLocal: origin.isLocal,
            key: driver.socket?.security?.peerKey.flatMap { PublicKey($0) },
            token: hello.token, hostName: hello.clientName.isEmpty ? nil : hello.clientName)
    }
}

extension Features {
    /// What a client takes content compressed as.
    fileprivate var compressionFormats: Set<CompressionFormat> {
        Set(CompressionFormat.allCases.filter { contains($0 == .zlib ? .zlib : .zstd) })
    }
}

extension PublicKey {
    /// - Returns: nothing unless it is an Ed25519 key.
    fileprivate init?(_ key: TLSKey) {
        guard key.isEd25519 else { return nil }
        self.init(key.bytes)
    }
}

extension UploadResult {
    /// Tells a client why it may not come in.
    init(_ refusal: Refusal) {
        self.init(
            id: .none, code: refusal.code, message: refusal.message,
            retryAfter: refusal.retryAfter.map { UInt32(clamping: $0.nanoseconds / 1_000_000) })
    }
}

extension Interval {
    /// As the protocol carries it; zero would tell a client to wait for ever.
    fileprivate var wireMilliseconds: UInt32 { max(1, UInt32(clamping: nanoseconds / 1_000_000)) }
}
