import TransferAccess
import TransferModel

/// What came of a link that a browser has shown.
enum SignInOutcome: Sendable {
    /// It is good: its page is shown, and nothing has happened.
    case offered(AccessToken)
    /// It is used up.
    case begun(AccessSecret, AccessToken)
    case refused(Refusal)
    /// A page of another site had the browser ask.
    case foreign
    /// Links are looked at and used, and nothing else.
    case unknownMethod
}
