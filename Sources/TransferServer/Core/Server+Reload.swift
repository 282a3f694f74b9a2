import TransferIO
import TransferIntake
package import TransferKeys
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

/// What a server is told anew while it runs.
package struct ServerReload: Sendable {
    let configuration: ServerConfiguration
    let logFormat: Log.Format
    let logLevel: LogEvent.Level

    /// The names of settings that take effect.
    let changes: [String]

    /// The names of those that would take a restart.
    let fixed: [String]

    /// Called when all of it holds.
    let whenDone: @Sendable () -> Void

    package init(
        configuration: ServerConfiguration, logFormat: Log.Format, logLevel: LogEvent.Level, changes: [String],
        fixed: [String], whenDone: @escaping @Sendable () -> Void
    ) {
        (self.configuration, self.logFormat, self.logLevel) = (configuration, logFormat, logLevel)
        (self.changes, self.fixed, self.whenDone) = (changes, fixed, whenDone)
    }
}

extension Server {
    /// Takes over what can change while the server runs, and reads its certificate again. Connections go on as they are. When
    /// anything of it is wrong, the log says so and nothing changes.
    ///
    /// - Parameters:
    ///   - read: finds out what is wanted; called on the pool.
    ///   - whenShown: called on the pool with the key that clients see from now on.
    package func reload(
        _ read: @escaping @Sendable () throws(ServerError) -> ServerReload,
        whenShown: @escaping @Sendable (KeyFingerprint) -> [LogEvent]
    ) async {
        let read = await core.transport.pool.run { [core] in
            Result { () throws(ServerError) in (try read(), try core.renewedTLS()) }
        }
        switch read {
        case .failure(let error): core.observability.log.write([.notReloaded(error.message)])
        case .success((let reload, let tls)):
            core.apply(reload)
            let key = tls.flatMap(core.show)
            var events = [LogEvent.reloaded(reload.changes, certificate: key)]
            if !reload.fixed.isEmpty { events.append(.needsRestart(reload.fixed)) }
            if let key { events += await core.transport.pool.run { whenShown(key) } }
            core.observability.log.write(events)
        }
    }
}

extension ServerCore {
    /// - Returns: nothing where the server shows no certificate from a file.
    fileprivate func renewedTLS() throws(ServerError) -> TLSContext? {
        guard case .certificate(let certificate, let key) = configuration.security else { return nil }
        do throws(TLSError) {
            return try TLSContext.server(
                .files(certificate: certificate, key: key), protocols: frontEnds.protocols,
                webProtocols: frontEnds.webProtocols)
        } catch {
            throw ServerError(error.message)
        }
    }

    /// Shows another certificate to whoever connects from now on.
    ///
    /// - Returns: its key.
    fileprivate func show(_ tls: TLSContext) -> KeyFingerprint? {
        transport.security.withLock { $0 = tls }
        return tls.key.map { KeyFingerprint(of: $0.bytes) }
    }

    fileprivate func apply(_ reload: ServerReload) {
        observability.log.change(format: reload.logFormat, level: reload.logLevel)
        var configuration = reload.configuration
        configuration.space = store.change(configuration.space)
        let settings = ServerSettings(configuration)
        transport.currentSettings.withLock { $0 = settings }
        intake.maximumUpload = settings.maximumUpload
        intake.keepUnfinished = settings.keepUnfinished.nanoseconds
        intake.mailroom?.limits = MailLimits(bytes: settings.mailboxQuota)
        transport.limits.withLock { $0.change(perNetwork: settings.maximumPerNetwork) }
        reload.whenDone()
    }
}
