import TransferHTTP

extension ClientConfiguration {
    /// - Throws: `TransferFailure` for what cannot be met over HTTP, or would be read by others.
    func check(_ web: WebAddress) throws(TransferFailure) {
        var isEncrypted = false
        if case .tls = security { isEncrypted = true }
        guard isEncrypted == web.isSecure else {
            throw Self.unsupported(
                isEncrypted
                    ? "http:// has no encryption; use https://." : "https:// is encrypted; don't ask for plaintext.")
        }
        guard web.isSecure || web.credentials == nil else {
            throw TransferFailure(
                reason: .untrusted,
                message:
                    "A password is for encrypted connections only: otherwise who listens in could use it. Nothing was sent."
            )
        }
        guard recipients.isEmpty, !seals, classic == nil else {
            throw Self.unsupported("Over HTTP nothing can be sent to somebody, and no classic framing is spoken.")
        }
        guard !wantsReceipts else { throw Self.unsupported("Over HTTP there are no receipts.") }
    }

    private static func unsupported(_ message: String) -> TransferFailure {
        TransferFailure(reason: .unsupported, message: "\(message) Nothing was sent.")
    }
}
