internal import TransferModel

/// What flags say, by the kinds of their values. A flag that has a value without being set says so in its help.
extension Flag {
    // MARK: Switches and words

    /// Of a flag without a placeholder.
    var isOn: FlagKey<Bool, Never> { FlagKey(self) { arguments, flag in arguments.isSet(flag) } }

    var text: FlagKey<String?, Never> { FlagKey(self) { arguments, flag in arguments.values(of: flag).last } }

    func text(default value: String) -> FlagKey<String, Never> {
        FlagKey(with(default: value)) { arguments, flag in arguments.values(of: flag).last ?? value }
    }

    /// Every occurrence counts.
    var texts: FlagKey<[String], Never> {
        var flag = self
        flag.isRepeatable = true
        return FlagKey(flag) { arguments, flag in arguments.values(of: flag) }
    }

    func texts(default value: String) -> FlagKey<[String], Never> {
        let key = texts
        return FlagKey(key.flag.with(default: value)) { arguments, flag in arguments.values(of: flag) }
    }

    // MARK: Choices

    func choice<Choice: FlagChoice>(of type: Choice.Type) -> FlagKey<Choice?, Never> {
        var flag = self
        flag.choices = Choice.flagValues
        // The parser lets no other value pass.
        return FlagKey(flag) { arguments, flag in arguments.values(of: flag).last.flatMap(Choice.init(flagValue:)) }
    }

    func choice<Choice: FlagChoice & Sendable>(default value: Choice) -> FlagKey<Choice, Never> {
        let key = choice(of: Choice.self)
        return FlagKey(key.flag.with(default: value.flagValue)) { arguments, flag in
            arguments.values(of: flag).last.flatMap(Choice.init(flagValue:)) ?? value
        }
    }

    // MARK: Numbers

    /// A number of bytes, at most `Int64.max`; see `SizeNotation`.
    var size: FlagKey<UInt64?, UsageError> {
        FlagKey(with(.size)) { (arguments, flag) throws(UsageError) in
            try arguments.values(of: flag).last.map { (text) throws(UsageError) in
                try arguments.size(text, of: flag)
            }
        }
    }

    func size(default bytes: UInt64) -> FlagKey<UInt64, UsageError> {
        FlagKey(with(.size).with(default: SizeNotation.text(bytes))) { (arguments, flag) throws(UsageError) in
            try arguments.values(of: flag).last.map { (text) throws(UsageError) in
                try arguments.size(text, of: flag)
            } ?? bytes
        }
    }

    /// A time in seconds; see `DurationNotation`.
    func duration(default seconds: Double) -> FlagKey<Double, UsageError> {
        FlagKey(with(.duration).with(default: DurationNotation.text(seconds))) {
            (arguments, flag) throws(UsageError) in
            try arguments.values(of: flag).last.map { (text) throws(UsageError) in
                try arguments.duration(text, of: flag)
            } ?? seconds
        }
    }

    /// - Parameter isPositive: whether none is too short.
    func interval(default interval: Interval, isPositive: Bool = true) -> FlagKey<Interval, UsageError> {
        let key = duration(default: interval.seconds)
        return FlagKey(key.flag) { (arguments, flag) throws(UsageError) in
            let seconds = try arguments[key]
            guard seconds > 0 || !isPositive else {
                throw arguments.error("\(arguments.source(of: flag)) must be more than zero")
            }
            return .seconds(seconds)
        }
    }

    /// A whole number.
    func count(in range: ClosedRange<Int> = 1...Int.max, default number: Int) -> FlagKey<Int, UsageError> {
        FlagKey(with(default: "\(number)")) { (arguments, flag) throws(UsageError) in
            try arguments.values(of: flag).last.map { (text) throws(UsageError) in
                try arguments.count(text, of: flag, in: range)
            } ?? number
        }
    }

    // MARK: Definition

    private func with(default value: String) -> Flag {
        var flag = self
        flag.defaultValue = value
        return flag
    }

    private func with(_ value: FlagValue) -> Flag {
        var flag = self
        flag.value = value
        return flag
    }
}

extension FlagChoice {
    /// The case that is typed so.
    init?(flagValue: String) {
        guard let choice = Self.allCases.first(where: { $0.flagValue == flagValue }) else { return nil }
        self = choice
    }
}
