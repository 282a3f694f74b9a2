import TransferModel

/// A value of a mix that can be written into a recorded case.
protocol MixValue: SendableMetatype {
    var caseText: String { get }

    init?(caseText: Substring)
}

extension Mix {
    /// One line of a recorded case.
    struct Field: Sendable {
        let name: String
        let text: @Sendable (Mix) -> String
        /// - Returns: whether the text is a valid value of the property.
        let read: @Sendable (Substring, inout Mix) -> Bool

        fileprivate init<Value: MixValue>(_ name: String, _ path: any WritableKeyPath<Mix, Value> & Sendable) {
            self.name = name
            text = { $0[keyPath: path].caseText }
            read = { text, mix in
                guard let value = Value(caseText: text) else { return false }
                mix[keyPath: path] = value
                return true
            }
        }
    }

    /// All properties of a mix that a world reads. The weights and the length are not among them: they only choose the
    /// steps.
    static let fields = [
        Field("store", \.store),
        Field("names", \.names),
        Field("hasFreshDirectories", \.hasFreshDirectories),
        Field("conflicts", \.conflicts),
        Field("sizes", \.sizes),
        Field("sharing", \.sharing),
        Field("sessions", \.sessions),
        Field("interludeRate", \.interludeRate),
        Field("faults", \.faults),
        Field("faultRates.durable", \.faultRates.durable),
        Field("faultRates.other", \.faultRates.other),
        Field("faultWait", \.faultWait),
        Field("quota", \.quota),
        Field("guestQuota", \.guestQuota),
        Field("hasMail", \.hasMail),
        Field("givesReceipts", \.givesReceipts),
        Field("syncsAsAWhole", \.syncsAsAWhole),
        Field("hasSecondDisk", \.hasSecondDisk),
        Field("hasConditions", \.hasConditions),
        Field("hasCommands", \.hasCommands),
        Field("keepsReplaced", \.keepsReplaced),
        Field("renamesByReplacing", \.renamesByReplacing),
        Field("nodes", \.nodes),
        Field("clusterFaults", \.clusterFaults),
    ]
}

// MARK: Values

/// A value that is written as its description, and read from it.
protocol DescribedMixValue: MixValue, LosslessStringConvertible {}

extension DescribedMixValue {
    var caseText: String { description }

    init?(caseText: Substring) { self.init(String(caseText)) }
}

extension Bool: DescribedMixValue {}
extension Int: DescribedMixValue {}
extension UInt32: DescribedMixValue {}
extension UInt64: DescribedMixValue {}
extension String: DescribedMixValue {}

/// A case of an enumeration is written by its name, so that new cases may be inserted before it.
protocol NamedMixValue: MixValue, CaseIterable {}

extension NamedMixValue {
    var caseText: String { "\(self)" }

    init?(caseText: Substring) {
        guard let found = Self.allCases.first(where: { "\($0)" == caseText }) else { return nil }
        self = found
    }
}

extension ConflictPolicy: NamedMixValue {}
extension SimulatedDisk.Fault.Kind: NamedMixValue {}
extension ClusterFault: NamedMixValue {}
extension Step.Kind: NamedMixValue {}
extension Simulation.StoreKind: NamedMixValue {}

extension Array: MixValue where Element: MixValue {
    var caseText: String { map(\.caseText).joined(separator: " ") }

    init?(caseText: Substring) {
        let pieces = caseText.split(separator: " ")
        self = pieces.compactMap { Element(caseText: $0) }
        guard count == pieces.count else { return nil }
    }
}

extension Optional: MixValue where Wrapped: MixValue {
    var caseText: String { map(\.caseText) ?? "none" }

    init?(caseText: Substring) {
        if caseText == "none" {
            self = .none
        } else {
            guard let value = Wrapped(caseText: caseText) else { return nil }
            self = .some(value)
        }
    }
}
