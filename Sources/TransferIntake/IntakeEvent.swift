package import TransferCatalog

/// What an operator has to hear of, which no caller is told.
package enum IntakeEvent: Sendable {
    /// - Parameter unrecorded: uploads that were acknowledged without it since it last worked.
    case catalogFailed(CatalogError, unrecorded: Int)

    /// - Parameter unrecorded: uploads that were acknowledged without it meanwhile.
    case catalogWorks(unrecorded: Int)
}
