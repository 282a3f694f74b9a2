import Testing
import TransferModel

@testable import TransferAccess

/// Secrets that were hashed before.
@Suite(.overEachKindOfLists) struct RememberedSecretsTests {
    /// Only right secrets are remembered: otherwise a second attempt with a wrong secret would succeed.
    @Test func aWrongSecretStaysWrong() throws {
        let server = try ServerFolder()
        let token = try server.issue(.token)
        let authenticator = Authenticator(server.lists)
        let wrong = "transfer_\(token.id)_\(AccessSecret.random(.token).secret)"
        for _ in 0..<2 { #expect(authenticator.refusal(.remote(nil, token: wrong)) == .authenticationFailed) }
        #expect(authenticator.refusal(.remote(nil, token: token.text)) == nil)
    }
}
